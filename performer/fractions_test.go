package performer_test

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/linear"
)

// quotients returns numerators over denominators of the sums of both fractions.
func quotients[T dense.Float](a, b linear.Fractions[T]) dense.Matrix[float64] {
	out := dense.New[float64](a.Numerators.Rows, a.Numerators.Cols)
	for i := range out.Rows {
		top := math.Max(float64(a.Exponents.At(i, 0)), float64(b.Exponents.At(i, 0)))
		scale := func(f linear.Fractions[T]) float64 {
			return math.Ldexp(float64(f.Factors.At(i, 0)), int(max(float64(f.Exponents.At(i, 0))-top, -5000)))
		}
		fa, fb := scale(a), scale(b)
		total := fa*float64(a.Denominators.At(i, 0)) + fb*float64(b.Denominators.At(i, 0))
		for j := range out.Cols {
			out.Set(i, j, (fa*float64(a.Numerators.At(i, j))+fb*float64(b.Numerators.At(i, j)))/total)
		}
	}
	return out
}
