package kmeans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Options, if zero, make Cluster use all rows and draw the first centres.
type Options[T dense.Float] struct {
	// Start has the k centres before the first iteration of Cluster as rows (k×d); if zero, Cluster
	// draws the first centres by k-means++.
	Start dense.Matrix[T]

	// Sample is the number of rows that Cluster draws, without replacement, to find the centres; 0
	// stands for all rows. Cluster labels every row of x, whatever Sample is.
	Sample int

	// Weights has a weight ω_i ≥ 0 for each row x_i of the argument x of Cluster. If Weights is
	// nil, every row has the weight 1. A row of weight 2 counts as two equal rows, and a row of
	// weight 0 gets a label but moves no centre.
	Weights []T

	// MaxIterations is the largest number of iterations of each start; 0 stands for 100, and −1 for
	// none: Cluster then only labels the rows.
	MaxIterations int

	// Starts is the number of times that Cluster draws first centres and iterates; 0 stands for 1.
	// Of several Starts, Cluster returns the centres of least inertia at the drawn rows if Sample
	// is above 0, and at all rows of x if Sample is 0.
	Starts int

	// Cluster calls Progress, unless nil, after each iteration, with the number of iterations.
	Progress func(iterations int)
}

// Clusters is the result of Cluster: the centres, the label of each row, and the inertia.
type Clusters[T dense.Float] struct {
	Centres dense.Matrix[T] // k×d
	Labels  []int           // for each row of x the nearest row of Centres

	// Inertia is Σ_i ω_i·‖x_i − Centres[Labels[i]]‖² over all rows x_i of x with the weights ω_i,
	// or +Inf if the sum overflows.
	Inertia float64

	// Iterations is the number of iterations that moved the centres in the best of Options.Starts.
	Iterations int
}

// Cluster divides the rows x_i of x (N×d), with the weights ω_i, into k clusters with centres c of
// a small inertia Σω_i·‖x_i − c_label(i)‖², often smaller with several Options.Starts.
//
// Cluster draws rows of x as first centres by k-means++: one with probabilities in proportion to ω,
// and each later row in proportion to ω times the squared distance from the nearest centre drawn
// before [Arthur & Vassilvitskii 2007]. Cluster iterates Lloyd's algorithm [Lloyd 1982]: every row
// gets the label of the nearest centre (the first of equally near ones), and every centre moves to
// the weighted mean of the rows with its label. Cluster stops when an iteration changes no label,
// and after Options.MaxIterations iterations.
//
// In an iteration, a centre that is nearest to no row of positive weight moves to the row with the
// largest ω times squared distance from the centre nearest to the row (of equal rows the first), or
// stays in place if every row equals a centre.
//
// For S drawn of N rows of R^d and k clusters, Cluster needs O(S·k·d) operations for each draw of
// centres and each iteration, and O(N·k·d) for the labels, in float64 also if T is float32.
// Multiplying x or the weights by a power of two changes no label of Cluster. Cluster changes no
// argument, and the result of Cluster shares no memory with arguments.
//
// Cluster returns an error for elements that are not finite, a k outside 1 … N for N rows (or 1 …
// Options.Sample), options out of range, fewer rows of positive weight than k or Sample, a nil src
// if rows are drawn, and the end of ctx. Cluster panics if ctx is nil.
func Cluster[T dense.Float](ctx context.Context, x dense.Matrix[T], k int, opts Options[T], src rand.Source) (Clusters[T], error) {
	if err := argument.Context("kmeans", ctx); err != nil {
		return Clusters[T]{}, fmt.Errorf("kmeans: %w", err)
	}
	if err := check(x, k, opts, src); err != nil {
		return Clusters[T]{}, err
	}
	e := exponent(ctx, x, opts.Start)
	weights := dense.Of(1, len(opts.Weights), opts.Weights)
	unit := exponent(ctx, weights)
	s := &clustering{ctx: ctx, progress: opts.Progress, iterate: max(cmp.Or(opts.MaxIterations, 100), 0), points: scaled(ctx, x, e), centres: scaled(ctx, opts.Start, e)}
	if s.weights = scaled(ctx, weights, unit).Data; opts.Weights == nil {
		s.weights, unit = slices.Repeat([]float64{1}, x.Rows), 0
	}
	if err := s.run(k, opts.Sample, max(opts.Starts, 1), src); err != nil {
		return Clusters[T]{}, fmt.Errorf("kmeans: %w", err)
	}
	c := Clusters[T]{Centres: opts.Start.Clone(), Labels: s.labels, Inertia: math.Ldexp(s.inertia, 2*e+unit), Iterations: s.iterations}
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

func check[T dense.Float](x dense.Matrix[T], k int, opts Options[T], src rand.Source) error {
	n := x.Rows
	if n < 1 || x.Cols < 1 {
		return fmt.Errorf("kmeans: x is %d×%d, want at least 1×1", n, x.Cols)
	}
	if opts.Sample < 0 || opts.Sample > n {
		return fmt.Errorf("kmeans: Options.Sample = %d, want 0 to %d, the rows of x", opts.Sample, n)
	}
	if opts.Weights != nil && len(opts.Weights) != n {
		return fmt.Errorf("kmeans: Options.Weights has %d weights, want %d, the rows of x", len(opts.Weights), n)
	}
	heavy := n // rows of positive weight
	for i, w := range opts.Weights {
		if !(w >= 0) || math.IsInf(float64(w), 1) {
			return fmt.Errorf("kmeans: Options.Weights[%d] = %v, want a finite number from 0 on", i, w)
		}
		if w == 0 {
			heavy--
		}
	}
	rows := "the rows of x"
	if opts.Sample > 0 {
		n, rows = opts.Sample, "the rows of the sample"
	}
	if k < 1 || k > n {
		return fmt.Errorf("kmeans: k = %d, want 1 to %d, %s", k, n, rows)
	}
	if least := max(k, opts.Sample); heavy < least {
		return fmt.Errorf("kmeans: %d rows have weights above 0, want at least %d", heavy, least)
	}
	if opts.MaxIterations < -1 || opts.MaxIterations > limit.Repeats {
		return fmt.Errorf("kmeans: Options.MaxIterations = %d, want -1 to %d", opts.MaxIterations, limit.Repeats)
	}
	if opts.Starts < 0 || opts.Starts > limit.Repeats {
		return fmt.Errorf("kmeans: Options.Starts = %d, want 0 to %d", opts.Starts, limit.Repeats)
	}
	started := opts.Start.Rows != 0 || opts.Start.Cols != 0
	if started && (opts.Start.Rows != k || opts.Start.Cols != x.Cols) {
		return fmt.Errorf("kmeans: Options.Start is %d×%d, want %d×%d", opts.Start.Rows, opts.Start.Cols, k, x.Cols)
	}
	if started && opts.Starts > 1 {
		return fmt.Errorf("kmeans: Options.Starts = %d beside Options.Start, want at most 1", opts.Starts)
	}
	if src == nil && (!started || opts.Sample > 0) {
		return errors.New("kmeans: src is nil")
	}
	if err := limit.Memory[float64](x.Rows, x.Cols); err != nil {
		return fmt.Errorf("kmeans: x is %d×%d: %w", x.Rows, x.Cols, err)
	}
	return cmp.Or(argument.Finite("kmeans: x", x), argument.Finite("kmeans: Options.Start", opts.Start))
}

// Squares of elements divided by 2^e do not overflow, and the largest does not underflow.
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

const passRows = 1024

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
