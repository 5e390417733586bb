package kernelridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/landmarks"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Model is a fit with a kernel on all rows: f(x) = b + Σ_i a_i·k(x, x_i) for each target. Goroutines
// may share a Model.
type Model[T dense.Float] struct {
	k        kernels.Kernel
	rows     dense.Matrix[T]
	origin   []float64
	weights  dense.Matrix[float64] // a, n×p
	constant []float64             // b
	ratio    float64
	errors   dense.Matrix[float64] // at rows left out; no rows without probes
}

// Kernel returns the kernel k.
func (m *Model[T]) Kernel() kernels.Kernel { return m.k }

// Weights returns copies of the weights a of rows, n×p, and of the constants b.
func (m *Model[T]) Weights() (a dense.Matrix[float64], b []float64) {
	return m.weights.Clone(), slices.Clone(m.constant)
}

// LeftOut returns y_i − f(x_i) for each row of Fit, n×p, where f is the fit of the other rows. It has
// no rows without Options.Probes.
func (m *Model[T]) LeftOut() dense.Matrix[float64] { return m.errors.Clone() }

// Mean writes f(x) for the rows of x (m×d) into dst (m×p) and returns dst. If dst is zero, Mean
// allocates it. Mean takes m·n values of the kernel in float64, because weights of a small λ are large
// and cancel, and m·n·(d + p) multiply-adds. A row that is not finite has the mean NaN. Mean panics if a shape does not fit.
func (m *Model[T]) Mean(dst, x dense.Matrix[T]) dense.Matrix[T] {
	x.Check()
	if x.Cols != m.rows.Cols {
		panic(fmt.Sprintf("kernelridge: x has %d columns, want %d", x.Cols, m.rows.Cols))
	}
	dst = dense.Ensure(dst, x.Rows, m.weights.Cols)
	k, own := images(m.k, m.rows)
	_, other := images(m.k, x)
	xs, ys := newPoints[float64](k, other, m.origin), newPoints[float64](k, own, m.origin)
	parallel.Rows(x.Rows, tileRows, func(lo, hi int) {
		t := pool.Get[tile[float64]](&tiles)
		defer pool.Put(&tiles, t)
		sums := dense.New[float64](hi-lo, dst.Cols)
		for i := range sums.Rows {
			copy(sums.Row(i), m.constant)
		}
		for from := 0; from < own.Rows; from += blockRows {
			to := min(from+blockRows, own.Rows)
			y := ys.rows(from, to)
			t.begin(y)
			matmul.MulInPlace(1, t.fill(k, xs.rows(lo, hi), y), m.weights.RowRange(from, to), 1, sums)
		}
		dense.Copy(dst.RowRange(lo, hi), sums)
	})
	for i := range x.Rows {
		for _, v := range x.Row(i) {
			if v-v != 0 {
				row := dst.Row(i)
				for j := range row {
					row[j] = T(math.NaN())
				}
				break
			}
		}
	}
	return dst
}

// Band returns f(x), m×p, and for each target the half width of a band that holds a new target with
// at least about the given probability, if new rows are drawn like those of Fit: the error at rows
// left out of rank ⌈level·(n + 1)⌉. It is +Inf if there are too few rows for the level.
//
// Band panics without Options.Probes, and if the level is not between 0 and 1.
func (m *Model[T]) Band(x dense.Matrix[T], level float64) (mean dense.Matrix[T], half []float64) {
	switch {
	case m.errors.Rows == 0:
		panic("kernelridge: the model has no errors at rows left out: set Options.Probes")
	case !(level > 0 && level < 1):
		panic(fmt.Sprintf("kernelridge: level = %v, want between 0 and 1", level))
	}
	n := m.errors.Rows
	rank, sorted := int(math.Ceil(level*float64(n+1))), make([]float64, n)
	for j := range m.errors.Cols {
		for i := range sorted {
			sorted[i] = math.Abs(m.errors.At(i, j))
		}
		slices.Sort(sorted)
		width := math.Inf(1)
		if rank <= n {
			width = sorted[rank-1]
		}
		half = append(half, width)
	}
	return m.Mean(dense.Matrix[T]{}, x), half
}

// Compress returns a model with r landmarks among the rows whose means at the rows are closest to
// those of m, up to the noise of 2⁻²⁰·λ: ridge regression of the means of m. Prediction takes r in
// place of n values of the kernel. The error reports an r outside 1 … n, a nil src, and the end of
// ctx.
func (m *Model[T]) Compress(ctx context.Context, r int, src rand.Source) (*ridge.Model[T], error) {
	if src == nil {
		return nil, errors.New("kernelridge: src is nil, want a source of randomness")
	}
	if r < 1 || r > m.rows.Rows {
		return nil, fmt.Errorf("kernelridge: r = %d, want 1 to %d", r, m.rows.Rows)
	}
	chosen, err := landmarks.Pivoted(ctx, m.k, m.rows, r, src)
	if err != nil {
		return nil, err
	}
	phi, err := rff.Nystroem(m.k, chosen)
	if err != nil {
		return nil, err
	}
	means := ridge.Block[T]{X: m.rows, Y: m.Mean(dense.Matrix[T]{}, m.rows)}
	return ridge.Fit(ctx, phi, means, ridge.Options{Ratio: 0x1p-20 * m.ratio})
}
