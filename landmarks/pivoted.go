package landmarks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/pivot"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Pivoted returns n different rows of x (N×d) as an n×d matrix of landmarks for rff.Nystroem, by
// randomly pivoted Cholesky. Pivoted draws the next landmark with probabilities proportional to
// k(x_i, x_i) − k_iL·K_LL⁻¹·k_Li, the error at row x_i of the Nyström approximation with the
// landmarks L so far. The mean error decreases with n almost as fast as the error of the best
// feature map of rank n [Chen, Epperly, Tropp & Webber 2023]. If all errors are at most 2⁻⁴⁰·k(x_i,
// x_i), Pivoted draws the others uniformly, and rff.Nystroem may have fewer than n features.
//
// Each row that Pivoted proposes, of at least n, takes O(n) values of the kernel k and O(n²) time,
// in float64 [Epperly, Tropp & Webber 2024]. To draw n of N rows, Pivoted takes at most O(N·n)
// values of k, O(N·n²) time, and memory for N·n numbers.
//
// Pivoted returns an error for a nil k or src, parameters of k out of range, an element of x that
// is not finite, an n outside 1 … N for N rows, a negative k(x_i, x_i), values of k that are not
// finite, and the end of ctx. Pivoted panics if ctx is nil.
func Pivoted[T dense.Float](ctx context.Context, k kernels.Kernel, x dense.Matrix[T], n int, src rand.Source) (dense.Matrix[T], error) {
	none := dense.Matrix[T]{}
	if err := argument.Context("landmarks", ctx); err != nil {
		return none, err
	}
	if err := kernels.Check(k); err != nil {
		return none, fmt.Errorf("landmarks: %w", err)
	}
	if err := check(x, n, src); err != nil {
		return none, err
	}
	if err := limit.Memory[float64](x.Rows, n); err != nil {
		return none, fmt.Errorf("landmarks: n = %d, for the Gram matrix with %d rows of x: %w", n, x.Rows, err)
	}
	points := dense.New[float64](x.Rows, x.Cols)
	err := interrupt.Rows(ctx, x.Rows, blockRows, func(lo, hi int) {
		dense.Copy(points.RowRange(lo, hi), x.RowRange(lo, hi))
	})
	if err != nil {
		return none, err
	}
	at, err := pivots(ctx, k, points, n, rand.New(src))
	if err != nil {
		return none, err
	}
	return layout.Rows(x, at), nil
}

const blockRows = 256

var errNotFinite = errors.New("landmarks: k is not finite at some rows of x: scale the rows")

func pivots(ctx context.Context, k kernels.Kernel, points dense.Matrix[float64], n int, rng *rand.Rand) ([]int, error) {
	own, least := make([]float64, points.Rows), make([]float64, points.Rows)
	err := interrupt.Rows(ctx, points.Rows, blockRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := points.Row(i)
			own[i] = k.Eval(row, row)
			least[i] = 0x1p-40 * own[i]
		}
	})
	if err != nil {
		return nil, err
	}
	for i, v := range own {
		switch {
		case v-v != 0:
			return nil, fmt.Errorf("landmarks: k(x[%d], x[%d]) = %v, want a finite number: scale the rows", i, i, v)
		case v < 0:
			return nil, fmt.Errorf("landmarks: k(x[%d], x[%d]) = %v, want at least 0", i, i, v)
		}
	}
	columns := &gramColumns{k: k, points: points}
	c := pivot.Chooser[float64]{Stop: func() bool { return ctx.Err() != nil }}
	at := slices.Clone(c.Choose(columns, n, own, nil, least, rng))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if columns.notFinite.Load() {
		return nil, errNotFinite
	}
	if len(at) < n {
		chosen := make([]bool, points.Rows)
		for _, i := range at {
			chosen[i] = true
		}
		for _, i := range rng.Perm(points.Rows) {
			if !chosen[i] && len(at) < n {
				at = append(at, i)
			}
		}
	}
	return at, nil
}

type gramColumns struct {
	k         kernels.Kernel
	points    dense.Matrix[float64]
	fixed     kernels.Fixed
	notFinite atomic.Bool
}

func (g *gramColumns) Fix(at []int) {
	fixed, err := kernels.Against(g.k, layout.Rows(g.points, at))
	if err != nil {
		panic(err) // Pivoted has checked k
	}
	g.fixed = fixed
}

func (g *gramColumns) Columns(dst dense.Matrix[float64], rows []int) {
	g.fixed.Gram(dst, layout.Rows(g.points, rows))
	if argument.Finite("K", dst) != nil {
		g.notFinite.Store(true)
	}
}
