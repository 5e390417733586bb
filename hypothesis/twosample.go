package hypothesis

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/rff"
)

// Options has, for the tests TwoSample and Independence, the number of random permutations and a
// limit that bounds the number of groups into which the tests divide the rows.
type Options struct {
	// Draws is the number B of permutations; zero means 999. No p-value is below 1/(1 + Draws).
	Draws int

	// Cells, at least 64, is the largest number of groups of rows that TwoSample permutes, and of
	// pairs of a group and a cyclic shift in Independence. Cells of 0 stands for 1024. If the data
	// have at most Options.Cells rows, each row is a cell. A value of Cells above 1024, which
	// divides more than 1024 rows into more groups to permute or shift, takes more time and gave no
	// measurable gain in the power of tests.
	Cells int
}

func (o Options) checked() (Options, error) {
	if o.Draws == 0 {
		o.Draws = 999
	}
	if o.Cells == 0 {
		o.Cells = 1024
	}
	if o.Draws < 0 || o.Draws > limit.Repeats {
		return o, fmt.Errorf("hypothesis: Options.Draws = %d, want 1 to %d, or 0 for 999", o.Draws, limit.Repeats)
	}
	if o.Cells < 64 || o.Cells > limit.Repeats {
		return o, fmt.Errorf("hypothesis: Options.Cells = %d, want 64 to %d, or 0 for 1024", o.Cells, limit.Repeats)
	}
	return o, nil
}

// Result is the result of TwoSample, Compare or Independence.
type Result struct {
	// P is the p-value (1 + n)/(1 + B), where n of B permutations have at least the statistic of
	// the data.
	P float64

	// Statistic is the squared norm of the difference of mean features, or, in Independence, of the
	// covariance of features. In TwoSample, the mean of Statistic over random samples is larger
	// than the value for the two distributions.
	Statistic float64

	// Unbiased is an estimate without bias of MMD² in TwoSample, and of HSIC in Independence. The
	// estimate Unbiased may be negative, although MMD² and HSIC are not.
	Unbiased float64

	Draws int // B
}

// TwoSample tests whether the rows of x (m×d) and y (n×d) have the same distribution, by
// permutations of the maximum mean discrepancy (MMD) of the features φ = phi [Gretton et al. 2012]:
//
//	Statistic  ‖φ̄_x − φ̄_y‖²,  the biased estimate of MMD² with the kernel φ(x)ᵀφ(y),
//	Unbiased   Statistic − Σ‖φ(x_i) − φ̄_x‖²/(m(m−1)) − Σ‖φ(y_i) − φ̄_y‖²/(n(n−1)).
//
// If all rows are exchangeable, as independent draws of one distribution are, then the p-value p of
// TwoSample has P(p ≤ α) ≤ α for every number of rows, features and permutations, with equality at
// α = k/(1 + B) for whole k if no two of B permutations tie. The feature map of TwoSample must not
// depend on which rows belong to x.
//
// For m and n rows, D features, B permutations and C cells, TwoSample costs m + n feature
// transforms, O((m + n)·D + B·C·D) operations in float64, and 8·C·D bytes of memory. The result of
// TwoSample does not depend on GOMAXPROCS. TwoSample returns an error for fewer than two rows in x
// or y, a number of columns that is not the dimension of points of phi, squares of features that
// overflow, and options out of range.
func TwoSample[T dense.Float](ctx context.Context, phi rff.Map[T], x, y dense.Matrix[T], o Options, src rand.Source) (Result, error) {
	if err := argument.Context("hypothesis", ctx); err != nil {
		return Result{}, err
	}
	o, err := o.checked()
	if err != nil {
		return Result{}, err
	}
	d, _, err := dims("phi", phi)
	if err != nil {
		return Result{}, err
	}
	samples := []dense.Matrix[T]{x, y}
	for i, sample := range samples {
		name := [...]string{"x", "y"}[i]
		if err := checkSample(name, sample, d, src); err != nil {
			return Result{}, err
		}
		if sample.Rows < 2 {
			return Result{}, fmt.Errorf("hypothesis: %s has %d rows, want at least 2", name, sample.Rows)
		}
	}
	fewer, half := min(x.Rows, y.Rows), o.Cells/2
	size := (fewer + half - 1) / half
	var cells [2]*Cells[T]
	for i, sample := range samples {
		if cells[i], err = NewCells(phi, size, o.Cells-min(fewer/size, half)); err != nil {
			return Result{}, err
		}
		if err := cells[i].add(ctx, [...]string{"x", "y"}[i], sample, src); err != nil {
			return Result{}, err
		}
	}
	return Compare(ctx, cells[0], cells[1], o.Draws, src)
}

// Compare runs the test of TwoSample on samples that were read in parts: the argument draws is the
// number of permutations of the cells of both samples, and 0 stands for 999.
//
// Compare returns an error for zero Cells, an x and a y with different feature maps or numbers of
// rows per cell, a sample with fewer than two rows or without a whole cell, squares of features
// that overflow, and draws below 0.
func Compare[T dense.Float](ctx context.Context, x, y *Cells[T], draws int, src rand.Source) (Result, error) {
	if err := argument.Context("hypothesis", ctx); err != nil {
		return Result{}, err
	}
	o, err := Options{Draws: draws}.checked()
	if err != nil {
		return Result{}, err
	}
	if src == nil {
		return Result{}, errNoSource
	}
	if err := x.checkSame("y", y); err != nil {
		return Result{}, err
	}
	for i, c := range []*Cells[T]{x, y} {
		if c.rows < 2 || len(c.cells) == 0 {
			return Result{}, fmt.Errorf("hypothesis: %s has %d rows in %d whole cells, want at least 2 in 1", [...]string{"x", "y"}[i], c.rows, len(c.cells))
		}
	}
	if err := limit.Memory[float64](len(x.cells)+len(y.cells), x.width); err != nil {
		return Result{}, fmt.Errorf("hypothesis: %d cells of %d features: %w", len(x.cells)+len(y.cells), x.width, err)
	}
	left, right := x.whole(), y.whole()
	distance := 0.0
	for j, v := range left.mean {
		distance += (v - right.mean[j]) * (v - right.mean[j])
	}
	m, n := left.rows, right.rows
	result := Result{Statistic: distance, Unbiased: distance - left.squares/(m*(m-1)) - right.squares/(n*(n-1)), Draws: o.Draws}
	if u := result.Unbiased; u-u != 0 {
		return Result{}, fmt.Errorf("hypothesis: the estimate without bias is %v, want a finite number: scale the rows so that squares of features do not overflow", u)
	}
	result.P, err = newMoves(x, y, left, right).pValue(ctx, o.Draws, rand.New(src))
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// moves holds the cells minus the common mean of all features, times a power of two against
// underflow. With the sum A of the features of x, φ̄_x − φ̄_y = A·(1/m + 1/n).
type moves struct {
	sums      dense.Matrix[float64] // of the features of each cell, first the cells of x
	first     int                   // the number of cells of x
	exponent  int                   // of the power of two
	fixed     []float64             // the sum of the features of rows of x outside cells
	tolerance float64               // a bound of the rounding error of ‖A‖
}

func newMoves[T dense.Float](x, y *Cells[T], left, right *group) *moves {
	common := newGroup(x.width)
	common.join(left)
	common.join(right)
	m := &moves{sums: dense.New[float64](len(x.cells)+len(y.cells), x.width), first: len(x.cells), fixed: make([]float64, x.width)}
	cells := append(x.cells[:len(x.cells):len(x.cells)], y.cells...)
	peak := 0.0
	for _, g := range append(cells[:len(cells):len(cells)], common) {
		for _, v := range g.mean {
			peak = max(peak, math.Abs(v))
		}
	}
	_, e := math.Frexp(peak)
	m.exponent = e
	size := 0.0
	for i, g := range cells {
		row := m.sums.Row(i)
		for j, v := range g.mean {
			row[j] = g.rows * math.Ldexp(v-common.mean[j], -e)
		}
		size += norm(row)
	}
	for _, g := range []*group{x.outside, x.open} {
		if g != nil {
			for j, v := range g.mean {
				m.fixed[j] += g.rows * math.Ldexp(v-common.mean[j], -e)
			}
		}
	}
	scale(common.mean, e)
	m.tolerance = 0x1p-45*size + 0x1p-50*float64(x.size*m.sums.Rows)*norm(common.mean)
	return m
}

const drawsTogether = 128

// pValue returns (1 + #{‖A_b‖ ≥ ‖A‖})/(1 + B). Norms that are equal up to rounding count as ties,
// which keeps the test valid.
func (m *moves) pValue(ctx context.Context, draws int, rng *rand.Rand) (float64, error) {
	cells, width := m.sums.Rows, m.sums.Cols
	order := make([]int, cells)
	for i := range order {
		order[i] = i
	}
	together := min(draws+1, drawsTogether)
	chosen, sums := dense.New[float64](together, cells), dense.New[float64](together, width)
	count, observed := 0, -1.0
	for done := 0; done <= draws; {
		rows := min(together, draws+1-done)
		for b := range rows {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			row := chosen.Row(b)
			clear(row)
			for i := 0; i < m.first; i++ {
				if done+b > 0 {
					l := i + rng.IntN(cells-i)
					order[i], order[l] = order[l], order[i]
				}
				row[order[i]] = 1
			}
		}
		a := sums.RowRange(0, rows)
		some := max(1, int(0x1p28/float64(cells)/float64(width)))
		for lo, hi := range interrupt.Ranges(ctx, rows, some) {
			matmul.Mul(1, chosen.RowRange(lo, hi), m.sums, 0, a.RowRange(lo, hi))
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		for b := range rows {
			row := a.Row(b)
			for j, v := range m.fixed {
				row[j] += v
			}
			length := norm(row)
			if done+b == 0 {
				observed = length
			}
			if length >= observed-m.tolerance {
				count++
			}
		}
		done += rows
	}
	return float64(count) / float64(1+draws), nil
}
