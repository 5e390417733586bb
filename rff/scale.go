package rff

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
)

// Standardise returns the affine map that gives the columns of x (n×d) mean 0 and standard
// deviation 1: Centre is the mean of the rows, and Factors are 1/σ_j for the standard deviation σ_j
// of column j with the divisor n − 1. Standardise gives a column of x that does not vary the factor
// 0, so that a different value in the column of a later row has no effect. Standardise returns an
// error for fewer than two rows, no columns, and a σ_j that makes 1/σ_j 0 or infinite in T.
func Standardise[T dense.Float](x dense.Matrix[T]) (Affine, error) {
	x.Check()
	if x.Rows < 2 || x.Cols < 1 {
		return Affine{}, fmt.Errorf("rff: x is %d×%d, want at least 2×1", x.Rows, x.Cols)
	}
	if err := argument.Finite("rff: x", x); err != nil {
		return Affine{}, err
	}
	centre, factors := make([]float64, x.Cols), make([]float64, x.Cols)
	for j := range centre {
		column := dense.Copy(dense.Matrix[float64]{}, x.ColRange(j, j+1))
		if slices.Min(column.Data) == slices.Max(column.Data) {
			centre[j] = column.Data[0]
			continue
		}
		e := toUnit(column)
		centre[j] = math.Ldexp(subtractMean(column.Data), e)
		factors[j] = math.Ldexp(math.Sqrt(float64(x.Rows-1))/floats.Norm(column.Data, 2), -e)
		if f := T(factors[j]); !(f > 0) || math.IsInf(float64(f), 0) {
			return Affine{}, fmt.Errorf("rff: column %d of x has the deviation %.3g, want a deviation whose inverse is in the range of %T", j, 1/factors[j], f)
		}
	}
	return Affine{Centre: centre, Factors: factors}, nil
}
