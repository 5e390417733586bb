package gramian

import (
	"context"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
)

// Direct returns the weights a = A⁻¹(y − b), n×p, for the b for which the columns of a sum to 0,
// with u = A⁻¹1 as a further column, and the factor of A = K + λΩ⁻¹, which overwrites K.
func Direct(ctx context.Context, gram, y dense.Matrix[float64], weights []float64, ratio float64) (a dense.Matrix[float64], factor *cholesky.Factor, err error) {
	n, outputs := y.Rows, y.Cols
	a = dense.New[float64](n, outputs+1)
	for i, w := range weights {
		gram.Row(i)[i] += ratio / w
		copy(a.Row(i), y.Row(i))
		a.Set(i, outputs, 1)
	}
	if factor, err = cholesky.New(ctx, gram); err != nil {
		return a, nil, err
	}
	factor.Solve(a)
	offsets := Offsets(a)
	for i := range n {
		row := a.Row(i)
		for j := range outputs {
			row[j] -= offsets[j] * row[outputs]
		}
	}
	return a, factor, nil
}

// Offsets returns, for each column of a but the last, the multiple of the last column that has the
// same sum.
func Offsets(a dense.Matrix[float64]) []float64 {
	sums, last := make([]float64, a.Cols), a.Cols-1
	for i := range a.Rows {
		for j, v := range a.Row(i) {
			sums[j] += v
		}
	}
	for j := range last {
		sums[j] /= sums[last]
	}
	return sums[:last]
}
