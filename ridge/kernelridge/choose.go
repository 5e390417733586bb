package kernelridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

// Choice is the kernel and the penalty λ that Choose or Scales returns.
type Choice struct {
	Kernel int     // its index among the candidates
	Ratio  float64 // λ
	// Score is Σω·e² over Σω·(y − ȳ)², for leave-one-out errors e of drawn rows with targets y of
	// mean ȳ and weights ω: the share of the variance of y that predictions of left-out rows leave.
	Score float64
	Start float64 // of Scales: the Score of k, with the first λ
}

// SampleRows is the largest number of rows on which Choose and Scales fit.
const SampleRows = 2000

// Choose returns the kernel among candidates and the penalty λ with the least weighted sum of
// squared leave-one-out errors on up to 2000 rows drawn with src. Choose tries the penalties 2⁻²⁰,
// 2⁻¹⁸ … 2⁴ times the mean of ω·k(x, x) over drawn rows x of weight ω. The penalty λ that is best
// for a sample of rows also serves a fit of all rows.
//
// With the kernel matrix K, the diagonal matrix Ω of the weights, A = K + λΩ⁻¹, u = A⁻¹1 and M =
// A⁻¹ − uuᵀ/(1ᵀu), the leave-one-out error at row i for targets y is (My)_i/M_ii. For n drawn rows,
// Choose takes about 26·n³ multiply-adds per kernel.
//
// Choose returns an error for an empty slice candidates, an invalid candidate, fewer than two rows
// of positive weight, targets that do not vary, targets and weights whose squares overflow or
// underflow, and kernels without a finite score.
func Choose[T dense.Float](ctx context.Context, candidates []kernels.Kernel, rows ridge.Block[T], src rand.Source) (Choice, error) {
	return choose(ctx, candidates, rows, SampleRows, src)
}

func choose[T dense.Float](ctx context.Context, candidates []kernels.Kernel, rows ridge.Block[T], most int, src rand.Source) (Choice, error) {
	best := Choice{Score: math.Inf(1)}
	if len(candidates) == 0 {
		return best, errors.New("kernelridge: candidates has no kernels")
	}
	for i, k := range candidates {
		if err := kernels.Check(k); err != nil {
			return best, fmt.Errorf("kernelridge: candidates[%d]: %w", i, err)
		}
	}
	x, y, weights, err := sample(ctx, rows, most, src)
	if err != nil {
		return best, err
	}
	null := gramian.Spread(y, weights)
	for index, k := range candidates {
		own, wide := gramian.Images(k, x)
		gram := dense.New[float64](x.Rows, x.Rows)
		if err := interrupt.Await(ctx, func() { kernels.Gram(gram, own, wide, dense.Matrix[float64]{}) }); err != nil {
			return best, err
		}
		unit := gramian.Unit(gram, weights)
		for power := -20; power <= 4; power += 2 {
			ratio := math.Ldexp(unit, power)
			left, err := leftOut(ctx, gram, y, weights, ratio)
			if ctx.Err() != nil {
				return best, ctx.Err()
			}
			if score := left / null; err == nil && score < best.Score {
				best = Choice{Kernel: index, Ratio: ratio, Score: score}
			}
		}
	}
	if math.IsInf(best.Score, 1) {
		return best, errors.New("kernelridge: no candidate has a finite score: scale the rows, the targets or the weights")
	}
	return best, nil
}

func sample[T dense.Float](ctx context.Context, rows ridge.Block[T], most int, src rand.Source) (x, y dense.Matrix[float64], weights []float64, err error) {
	if err := argument.Context("kernelridge", ctx); err != nil {
		return x, y, nil, err
	}
	if src == nil {
		return x, y, nil, errors.New("kernelridge: src is nil, want a source of randomness")
	}
	if err := rows.Check(rows.X.Cols, rows.Y.Cols); err != nil {
		return x, y, nil, err
	}
	var drawn []int
	for _, i := range rand.New(src).Perm(rows.X.Rows) {
		if rows.Weight(i) > 0 && len(drawn) < most {
			drawn = append(drawn, i)
		}
	}
	if len(drawn) < 2 || rows.Y.Cols == 0 {
		return x, y, nil, fmt.Errorf("kernelridge: %d rows of positive weight with %d targets, want at least 2 and 1", len(drawn), rows.Y.Cols)
	}
	slices.Sort(drawn)
	for _, at := range drawn {
		weights = append(weights, rows.Weight(at))
	}
	y = dense.Copy(dense.Matrix[float64]{}, layout.Rows(rows.Y, drawn))
	if err := checkRange[T](y, rows.Weight, drawn); err != nil {
		return x, y, nil, err
	}
	if !(gramian.Spread(y, weights) > math.SmallestNonzeroFloat64) {
		return x, y, nil, fmt.Errorf("kernelridge: the targets are the same in %d rows, want targets that vary", len(drawn))
	}
	return dense.Copy(x, layout.Rows(rows.X, drawn)), y, weights, nil
}

func leftOut(ctx context.Context, gram, y dense.Matrix[float64], weights []float64, ratio float64) (float64, error) {
	n := y.Rows
	system, err := gramian.NewSystem(ctx, gram.Clone(), weights, ratio)
	if err != nil {
		return 0, err
	}
	a, _ := system.Fit(y)
	diagonal, total := make([]float64, n), 0.0
	if err := system.Factor.Invert(ctx, func(lo int, columns dense.Matrix[float64]) {
		for i := lo; i < n; i++ {
			for j, v := range columns.Row(i) {
				diagonal[lo+j] += v * v
			}
		}
	}); err != nil {
		return 0, err
	}
	whole := floats.Sum(system.Ones)
	for i, w := range weights {
		own := diagonal[i] - system.Ones[i]*system.Ones[i]/whole
		for _, v := range a.Row(i) {
			total += w * (v / own) * (v / own)
		}
	}
	return total, nil
}
