package rff

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Scale returns the affine map of each column by itself,
//
//	z_j = f_j·(x_j − c_j),  R^d → R^d,
//
// for the factors f and the centre c, both of length d and copied. A nil centre stands for 0. Scale
// is Affine with a diagonal matrix, at a cost of O(d) for each row: Compose puts it before a map,
// so that a model takes rows in their own units.
//
// Scale returns an error for no factors, a centre of another length, an element that is not finite,
// and a d whose d×d matrix, which the kernel of the map has, is too large for memory.
func Scale[T dense.Float](centre, factors []float64) (Map[T], error) {
	return build[Map[T]](scaleRecipe[T]{slices.Clone(centre), slices.Clone(factors)})
}

// Standardise returns the Scale that gives the columns of x (n×d) mean 0 and deviation 1: c is the
// mean of the rows and f_j is 1/σ_j, where σ_j is the standard deviation of column j with the
// divisor n − 1. The factor of a column that does not vary is 0, so that a value that differs in a
// later row has no effect. Means and deviations are float64. Deviations have full precision also if
// only the last digits of a column vary. The rounding of c_j then moves the column of z by at most
// 2⁻⁵³·|c_j|/σ_j.
//
// Standardise returns an error for fewer than two rows, no columns, an element that is not finite,
// and a deviation that overflows or is so small that its inverse does.
func Standardise[T dense.Float](x dense.Matrix[T]) (Map[T], error) {
	x.Check()
	if x.Rows < 2 || x.Cols < 1 {
		return nil, fmt.Errorf("rff: x is %d×%d, want at least 2×1", x.Rows, x.Cols)
	}
	if err := argument.Finite("rff: x", x); err != nil {
		return nil, err
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
			return nil, fmt.Errorf("rff: column %d of x has the deviation %.3g, want a deviation whose inverse is in the range of %T", j, 1/factors[j], f)
		}
	}
	return build[Map[T]](scaleRecipe[T]{centre, factors})
}

// scaleRecipe holds the parts of Scale that a file stores.
type scaleRecipe[T dense.Float] struct {
	Centre  []float64 `archive:"center"` // nil for 0
	Factors []float64
}

func newScale[T dense.Float](r scaleRecipe[T]) (Map[T], error) {
	d := len(r.Factors)
	if d < 1 || r.Centre != nil && len(r.Centre) != d {
		return nil, fmt.Errorf("rff: %d factors and a centre of length %d, want at least one factor and as many centres", d, len(r.Centre))
	}
	if err := limit.Memory[float64](d, d); err != nil {
		return nil, fmt.Errorf("rff: the matrix of %d factors: %w", d, err)
	}
	a := dense.New[float64](d, d)
	for j, f := range r.Factors {
		a.Set(j, j, f)
	}
	return affineMap[T]("Scale()", a, r.Centre, nil, r)
}
