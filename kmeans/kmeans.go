package kmeans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Options are the options of Cluster. The zero Options use all rows and draw the first centres.
type Options[T dense.Float] struct {
	// Start has the k centres before the first iteration as rows (k×d). If Start is the zero
	// Matrix, Cluster draws the first centres by k-means++.
	Start dense.Matrix[T]

	// Sample is the number of rows that Cluster draws, without replacement, to find the centres. A
	// Sample of 0 stands for all rows of x. Cluster labels every row of x, whatever Sample is.
	Sample int

	// Cluster calls Progress, unless Progress is nil, after each iteration, on the goroutine of the
	// caller.
	Progress func(iterations int)
}

// Clusters is the result of Cluster: the centres, the label of each row, and the inertia.
type Clusters[T dense.Float] struct {
	Centres dense.Matrix[T] // k×d
	Labels  []int           // for each row of x the nearest row of Centres

	// Inertia is Σ_i ‖x_i − Centres[Labels[i]]‖² over all rows of x, in squared units of x. Inertia
	// is +Inf if the sum of squared distances overflows float64, and 0 if the sum underflows.
	Inertia float64

	// Iterations is the number of iterations that moved centres.
	Iterations int
}

// Cluster divides the rows of x (N×d) into k clusters such that the inertia Σ‖x_i − c_label(i)‖² is
// small. If maxIterations is large enough, the inertia Σ‖x_i − c_label(i)‖² is a local minimum.
//
// Cluster draws the first centres from the rows of x: one row uniformly, and each later row with a
// probability proportional to the squared distance from the nearest centre drawn before [Arthur &
// Vassilvitskii 2007]. Options.Start replaces the draw. After the draw, Cluster iterates Lloyd's
// algorithm [Lloyd 1982]: every row gets the label of the nearest centre (of equally near centres
// the first), and every centre moves to the mean of the rows with its label. Cluster stops when an
// iteration changes no label, and after maxIterations iterations. If maxIterations is 0, the
// centres stay as drawn or as given in Options.Start, and Cluster only labels the rows.
//
// A centre to which no row is nearest moves to the row whose distance from its own nearest centre
// is the largest (of equally far rows the first). A centre to which no row is nearest stays in
// place if every row equals a centre. If x has fewer than k different rows, some centres are equal
// and some clusters are empty.
//
// For x of N×d and k clusters, Cluster costs O(N·k·d) for the draw, for each iteration and for the
// last labels, in float64 also if T is float32. Cluster makes a copy of x. With Options.Sample = S,
// the draw and each iteration cost O(S·k·d) for k clusters in R^d. The clusters do not depend on
// GOMAXPROCS. If all elements of x are multiplied by the same power of two, so are the centres.
// Cluster changes neither x nor Options.Start, and the result shares no memory with x and
// Options.Start.
//
// Cluster returns an error for an x (N×d) without elements, an element of x or Options.Start that
// is not finite, a k outside 1 … N (or 1 … Options.Sample), a maxIterations below 0, an
// Options.Sample outside 0 … N, an Options.Start that is not k×d, a nil src if rows are drawn, and
// a ctx that has ended. Cluster checks ctx between blocks of rows. A nil ctx panics.
func Cluster[T dense.Float](ctx context.Context, x dense.Matrix[T], k, maxIterations int, opts Options[T], src rand.Source) (Clusters[T], error) {
	if err := argument.Context("kmeans", ctx); err != nil {
		return Clusters[T]{}, fmt.Errorf("kmeans: %w", err)
	}
	if err := check(x, k, maxIterations, opts, src); err != nil {
		return Clusters[T]{}, err
	}
	e := exponent(ctx, x, opts.Start)
	s := &search{ctx: ctx, progress: opts.Progress, points: scaled(ctx, x, e), centres: scaled(ctx, opts.Start, e)}
	if err := s.run(k, maxIterations, opts.Sample, src); err != nil {
		return Clusters[T]{}, fmt.Errorf("kmeans: %w", err)
	}
	c := Clusters[T]{Centres: opts.Start.Clone(), Labels: s.labels, Inertia: math.Ldexp(s.inertia, 2*e), Iterations: s.iterations}
	if s.seeds != nil {
		c.Centres = layout.Rows(x, s.seeds)
	}
	if s.iterations > 0 {
		for i := range k {
			for j, v := range s.centres.Row(i) {
				c.Centres.Set(i, j, T(math.Ldexp(v, e)))
			}
		}
	}
	return c, nil
}

func check[T dense.Float](x dense.Matrix[T], k, maxIterations int, opts Options[T], src rand.Source) error {
	n := x.Rows
	if n < 1 || x.Cols < 1 {
		return fmt.Errorf("kmeans: x is %d×%d, want at least 1×1", n, x.Cols)
	}
	if opts.Sample < 0 || opts.Sample > n {
		return fmt.Errorf("kmeans: Options.Sample = %d, want 0 to %d, the rows of x", opts.Sample, n)
	}
	rows := "the rows of x"
	if opts.Sample > 0 {
		n, rows = opts.Sample, "the rows of the sample"
	}
	if k < 1 || k > n {
		return fmt.Errorf("kmeans: k = %d, want 1 to %d, %s", k, n, rows)
	}
	if maxIterations < 0 || maxIterations > limit.Repeats {
		return fmt.Errorf("kmeans: maxIterations = %d, want 0 to %d", maxIterations, limit.Repeats)
	}
	started := opts.Start.Rows != 0 || opts.Start.Cols != 0
	if started && (opts.Start.Rows != k || opts.Start.Cols != x.Cols) {
		return fmt.Errorf("kmeans: Options.Start is %d×%d, want %d×%d", opts.Start.Rows, opts.Start.Cols, k, x.Cols)
	}
	if src == nil && (!started || opts.Sample > 0) {
		return errors.New("kmeans: src is nil")
	}
	if err := limit.Memory[float64](x.Rows, x.Cols); err != nil {
		return fmt.Errorf("kmeans: x is %d×%d: %w", x.Rows, x.Cols, err)
	}
	return cmp.Or(argument.Finite("kmeans: x", x), argument.Finite("kmeans: Options.Start", opts.Start))
}

// exponent returns the e of the least power 2^e above all elements. Squares of elements divided by
// 2^e do not overflow, and the largest does not underflow. If ctx ends, exponent leaves out rows.
func exponent[T dense.Float](ctx context.Context, matrices ...dense.Matrix[T]) int {
	var peak float64
	for _, m := range matrices {
		for lo, hi := range interrupt.Ranges(ctx, m.Rows, passRows) {
			for i := lo; i < hi; i++ {
				for _, v := range m.Row(i) {
					peak = max(peak, math.Abs(float64(v)))
				}
			}
		}
	}
	_, e := math.Frexp(peak)
	return e
}

// passRows is the number of rows between two checks of the context.
const passRows = 1024

// scaled returns x/2^e, which is exact. If ctx ends, scaled leaves out rows, and run returns the
// error.
func scaled[T dense.Float](ctx context.Context, x dense.Matrix[T], e int) dense.Matrix[float64] {
	y := dense.New[float64](x.Rows, x.Cols)
	_ = interrupt.Rows(ctx, x.Rows, passRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			to := y.Row(i)
			for j, v := range x.Row(i) {
				to[j] = math.Ldexp(float64(v), -e)
			}
		}
	})
	return y
}
