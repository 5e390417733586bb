package ridge

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// DegreesOfFreedom returns the effective number of parameters of each output, the trace of the
// matrix H with ŷ = Hy: Σ λ_i/(λ_i + λ) over the eigenvalues λ_i of the sums, and 1 for an
// intercept. Cost: D³/6 multiply-adds at the first call.
func (m *Model[T]) DegreesOfFreedom() float64 {
	if m.factor == nil {
		panic(errNoModel.Error())
	}
	degrees := max(0, float64(m.weights.Rows)-m.ratio*floats.Sum(m.diagonal()))
	if m.centred {
		degrees++
	}
	return degrees
}

// FeatureDegrees returns the part of each feature in DegreesOfFreedom, 1 − λ·(A⁻¹)_ff: 0 for a weight
// that the rows tell nothing of, and 1 for one that they determine [MacKay 1992]. Rounding may leave a
// part some 2⁻¹⁰ outside of [0, 1]. Cost: as DegreesOfFreedom.
func (m *Model[T]) FeatureDegrees() []float64 {
	if m.factor == nil {
		panic(errNoModel.Error())
	}
	parts := slices.Clone(m.diagonal())
	for f, v := range parts {
		parts[f] = 1 - m.ratio*v
	}
	return parts
}

// diagonal returns the diagonal of A⁻¹.
func (m *Model[T]) diagonal() []float64 {
	m.degrees.Do(func() { m.inverse, _ = m.factor.inverseDiagonal(context.Background()) })
	return m.inverse
}
