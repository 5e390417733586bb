package landmarks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Leverage returns n different rows of x (N×d), as an n×d matrix of landmarks for
// rff.Nystroem, drawn one after the other with probabilities proportional to their ridge leverage
// scores
//
//	s_i = (K·(K + λI)⁻¹)_ii,  λ = ridge,
//
// for the Gram matrix K of x [Alaoui & Mahoney 2015]. A score is between 0 and 1. It is near 1 for
// a point unlike all others, and near 1/c for each of c equal points, so that the draw finds rare
// points that uniform sampling would miss. The sum of all scores is the effective dimension of
// kernel ridge regression with this λ and should be below n. Then n landmarks cover the part of the
// spectrum of K above λ. If λ is too small for this, all scores are near 1, and the draw is
// uniform.
//
// The scores are estimated without the N×N matrix, by recursion [Musco & Musco 2017]: the points
// are halved at random down to 2n. Then, at each size, the set S of the points chosen so far, with
// their probabilities p, gives the scores of twice as many points,
//
//	s_i ≈ (k(x_i, x_i) − k_iS·(K_SS + λ·diag(p))⁻¹·k_Si)/λ,  at most 1,
//
// About 2n of these points are chosen for the next step, each with a probability proportional to
// its score. At the end all rows of x are scored once more. Nystroem needs no weights of the
// points, because its features depend on the span of the landmarks alone.
//
// The cost is O(N·n) values of k and O(N·n² + n³ log N), in float64.
//
// An error reports a nil k, parameters of k out of range, an element of x that is not finite, an n
// outside 1 … N or too large for memory, a ridge that is not a positive finite number, a nil src, a
// value of k that is not finite, and a matrix K_SS + λ·diag(p) that is not positive definite to
// working precision: k is not a kernel then, or ridge is too small. The error of ctx is returned if
// ctx ends, which is looked at between blocks of rows. Leverage does not wait for the end of a
// factorisation of K_SS or of a sort of the scores, which goes on alone until it is done: (2n)³/3
// multiply-adds at most. A nil ctx panics.
func Leverage[T dense.Float](ctx context.Context, k kernels.Kernel, x dense.Matrix[T], n int, ridge float64, src rand.Source) (dense.Matrix[T], error) {
	none := dense.Matrix[T]{}
	if err := argument.Context("landmarks", ctx); err != nil {
		return none, err
	}
	if err := argument.Kernel("landmarks: k", k); err != nil {
		return none, err
	}
	if err := check(x, n, src); err != nil {
		return none, err
	}
	if !(ridge > 0 && ridge <= math.MaxFloat64) {
		return none, fmt.Errorf("landmarks: ridge = %v, want a positive finite number", ridge)
	}
	if err := limit.Memory[float64](n, n); err != nil {
		return none, fmt.Errorf("landmarks: n = %d, for the Gram matrix of as many points: %w", n, err)
	}
	rng := rand.New(src)
	order := rng.Perm(x.Rows)
	points := dense.New[float64](x.Rows, x.Cols)
	err := interrupt.Rows(ctx, x.Rows, blockRows, func(lo, hi int) {
		dense.Copy(points.RowRange(lo, hi), layout.Rows(x, order[lo:hi]))
	})
	if err != nil {
		return none, err
	}
	at, err := byLeverage(ctx, k, points, n, ridge, rng)
	if err != nil {
		return none, err
	}
	for i, c := range at {
		at[i] = order[c]
	}
	return layout.Rows(x, at), nil
}

// byLeverage draws n of the points, which are in random order, and returns their numbers.
func byLeverage(ctx context.Context, k kernels.Kernel, points dense.Matrix[float64], n int, ridge float64, rng *rand.Rand) ([]int, error) {
	kept := min(2*n, points.Rows)
	sizes := []int{points.Rows}
	for last := points.Rows; last > kept; {
		last = max((last+1)/2, kept)
		sizes = append(sizes, last)
	}
	slices.Reverse(sizes)

	chosen := sample{at: make([]int, sizes[0]), p: make([]float64, sizes[0])}
	for i := range chosen.at {
		chosen.at[i], chosen.p[i] = i, 1
	}
	// Points chosen among half of the rows give scores up to twice as large. So the last size is
	// scored again with points chosen among all rows.
	if sizes = append(sizes[1:], points.Rows); kept == points.Rows {
		sizes = []int{points.Rows}
	}
	var scores []float64
	var err error
	for i, size := range sizes {
		if scores, err = leverage(ctx, k, points.RowRange(0, size), chosen, ridge); err != nil {
			return nil, err
		}
		if i < len(sizes)-1 {
			if chosen, err = independent(ctx, scores, kept, rng); err != nil {
				return nil, err
			}
		}
	}
	return successive(ctx, scores, n, rng)
}

// sample holds the indices of chosen points and the probabilities with which they were chosen.
type sample struct {
	at []int
	p  []float64
}

// blockRows is the largest number of rows between two looks at the context.
const blockRows = 256

var errNotFinite = errors.New("landmarks: k is not finite at some rows of x: scale the rows")

// leverage estimates the scores of all points from a sample.
func leverage(ctx context.Context, k kernels.Kernel, points dense.Matrix[float64], s sample, ridge float64) ([]float64, error) {
	chosen := layout.Rows(points, s.at)
	n := chosen.Rows
	own := kernels.Gram(dense.Matrix[float64]{}, k, chosen, dense.Matrix[float64]{})
	if argument.Finite("K", own) != nil {
		return nil, errNotFinite
	}
	for i, p := range s.p {
		own.Row(i)[i] += ridge * p
	}
	var c mat.Cholesky
	definite := false
	if err := interrupt.Await(ctx, func() { definite = c.Factorize(mat.NewSymDense(n, own.Data)) }); err != nil {
		return nil, err
	}
	if !definite {
		return nil, fmt.Errorf("landmarks: the Gram matrix of %d points with ridge = %v is not positive definite to working precision: want a larger ridge, rows of a smaller scale, or a k that is a kernel", n, ridge)
	}
	var lower mat.TriDense
	c.LTo(&lower)
	scores := make([]float64, points.Rows)
	// A block of rows takes about as long for a large n as for a small one.
	rows := max(1, min(blockRows, int(0x1p24/float64(n)/float64(n+points.Cols))))
	err := interrupt.Rows(ctx, points.Rows, rows, func(lo, hi int) {
		// With K_SS + λ·diag(p) = LLᵀ the form is the squared norm of k_iS·L⁻ᵀ.
		block := points.RowRange(lo, hi)
		g := kernels.Gram(dense.Matrix[float64]{}, k, block, chosen)
		blas64.Trsm(blas.Right, blas.Trans, 1, lower.RawTriangular(), blas64.General(g))
		for i := range g.Rows {
			x := block.Row(i)
			rest := k.Eval(x, x) - 2*vecmath.HalfSquaredNorm(g.Row(i))
			// Rounding may leave less than 0; rest − rest is NaN for ±Inf.
			scores[lo+i] = max(min(rest/ridge, 1), 0) + (rest - rest)
		}
	})
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(scores, math.IsNaN) {
		return nil, errNotFinite
	}
	return scores, nil
}

// independent chooses each point independently with the probability min(1, c·score). c makes the
// expected number of points n, or chooses all points of positive score if they are fewer. If it
// chooses none, it returns the first point. The error is that of ctx.
func independent(ctx context.Context, scores []float64, n int, rng *rand.Rand) (s sample, _ error) {
	expected := func(c float64) (sum float64) {
		for _, v := range scores {
			sum += min(1, c*v)
		}
		return sum
	}
	lo, hi := 0.0, 1.0
	for expected(hi) < float64(n) && hi < 1e300 {
		hi *= 2
	}
	for range 60 {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		if mid := (lo + hi) / 2; expected(mid) < float64(n) {
			lo = mid
		} else {
			hi = mid
		}
	}
	for i, v := range scores {
		p := min(1, hi*v)
		if rng.Float64() < p {
			s.at, s.p = append(s.at, i), append(s.p, p)
		}
	}
	if s.at == nil {
		return sample{at: []int{0}, p: []float64{1}}, nil
	}
	return s, nil
}

// successive draws n points one after the other without replacement, with probabilities
// proportional to their scores. It takes the points with the smallest of independent exponential
// times E/score [Efraimidis & Spirakis 2006]. Points of score 0 come last, in their order, which is
// random. The error is that of ctx.
func successive(ctx context.Context, scores []float64, n int, rng *rand.Rand) ([]int, error) {
	times := make([]float64, len(scores))
	at := make([]int, len(scores))
	for i, v := range scores {
		at[i], times[i] = i, math.Inf(1)
		if e := rng.ExpFloat64(); v > 0 {
			times[i] = e / v
		}
	}
	err := interrupt.Await(ctx, func() {
		slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	})
	return at[:n], err
}
