package kernelridge

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

// startRows is the largest number of rows that choose the first λ.
const startRows = 500

// Scales returns a Gaussian or Matern kernel k with a length-scale for each column, and a penalty λ
// for Fit, with the least weighted sum of squared leave-one-out errors on up to 2000 rows drawn
// with src. From the length-scale of k, and the penalty λ of Choose on up to 500 rows, Scales takes
// up to 40 steps of L-BFGS on a quarter, a third or half of the drawn rows, the least with 250 rows
// and 15 rows a column, or else on all, and then up to ten steps on each larger part. A step on n
// rows costs some n³ multiply-adds.
// The matrix A of the kernels.Pullback that Scales returns is diagonal, with the inverses of the
// length-scales in units of the length-scale of k. The penalty λ of ridge regression that Scales
// returns is at least 2⁻²³ times the mean of ω_i·k(x_i, x_i) over the rows x_i that Scales draws,
// with weights ω_i. With fewer than some twenty rows per column, the length-scales fit the noise.
// If a sine of a short period along some columns explains the targets better than sines of longer
// periods, L-BFGS also begins with short length-scales there, and Scales keeps the better end.
//
// Scales returns the errors of Choose, an error for a k that is no valid Gaussian or Matern, and
// the best length-scales so far with an error if ctx ends during L-BFGS.
func Scales[T dense.Float](ctx context.Context, k kernels.Kernel, rows ridge.Block[T], src rand.Source) (kernels.Pullback, Choice, error) {
	best := kernels.Pullback{K: k}
	if _, ok := gramian.ProfileOf(k); !ok {
		return best, Choice{}, fmt.Errorf("kernelridge: k is a %T, want a kernels.Gaussian or kernels.Matern", k)
	}
	if err := kernels.Check(k); err != nil {
		return best, Choice{}, fmt.Errorf("kernelridge: %w", err)
	}
	x, y, weights, err := sample(ctx, rows, SampleRows, src)
	if err != nil {
		return best, Choice{}, err
	}
	var choice Choice
	found, err := gramian.LearnScales(ctx, k, x, y, weights, false, true, func(x, y dense.Matrix[float64], weights []float64) (float64, error) {
		var err error
		choice, err = choose(ctx, []kernels.Kernel{k}, ridge.Block[float64]{X: x, Y: y, Weights: weights}, startRows, src)
		return choice.Ratio, err
	})
	if found.Logs == nil {
		return best, choice, err
	}
	best.A = dense.New[float64](x.Cols, x.Cols)
	for j, l := range found.Logs {
		best.A.Set(j, j, math.Exp(-l))
	}
	choice.Ratio, choice.Score, choice.Start = found.Ratio, math.Exp(found.Loss), math.Exp(found.Start)
	return best, choice, err
}
