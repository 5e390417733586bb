package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// Gradients are differences of f_j = φᵀw_j, for a map and for a map after an affine one. A central
// difference of step h errs by at most h²/6 times the third derivative of f_j, which is at most
// Σ_k|w_kj|·(s·‖ω‖/ℓ)³/√m for the largest factor s of the affine map, and by rounding of f_j.
func TestGradients(t *testing.T) {
	const m, d, p, step, lengthScale = 40, 3, 2, 1e-5, 1.5
	w := must.Have(orf.Draw[float64](orf.GramSchmidt{}, m, d, densetest.Source(1)))
	gaussian := must.Have(rff.Draw(rff.Gaussian{LengthScale: lengthScale}, w))
	composed := must.Have(rff.Compose(rff.Affine{Centre: []float64{1, 0, -1}, Factors: []float64{0.5, 2, 1}}, gaussian))
	weights := points[float64](2, 2*m, p, 1)
	longest, size := 0.0, floats.Norm(weights.Data, 1)/math.Sqrt(m) // size is at least Σ_k|w_kj|/√m
	frequencies := w.Frequencies()
	for k := range m {
		longest = max(longest, floats.Norm(frequencies.Row(k), 2))
	}
	tolerance := size * (math.Pow(2*longest/lengthScale, 3)*step*step/6 + 8*0x1p-53/step)
	x := points[float64](3, 300, d, 1)
	for _, phi := range []rff.Map[float64]{gaussian, composed} {
		g := must.Have(rff.Gradients(phi, weights))
		in, out := g.Dims()
		assert.Equal(t, []int{d, d * p}, []int{in, out})
		assert.Nil(t, g.Kernel())
		got := g.Transform(dense.Matrix[float64]{}, x)
		for j := range d {
			up, down := x.Clone(), x.Clone()
			for i := range x.Rows {
				up.Row(i)[j] += step
				down.Row(i)[j] -= step
			}
			above, below := phi.Transform(dense.Matrix[float64]{}, up), phi.Transform(dense.Matrix[float64]{}, down)
			for i := range x.Rows {
				for o := range p {
					difference := 0.0
					for k := range 2 * m {
						difference += weights.At(k, o) * (above.At(i, k) - below.At(i, k)) / (2 * step)
					}
					require.InDelta(t, difference, got.At(i, o*d+j), tolerance, "row %d, f_%d, x_%d", i, o, j)
				}
			}
		}
	}
}

func TestGradientsOfFloat32(t *testing.T) {
	phi := must.Have(rff.Draw[float32](rff.Identity{D: 2}, nil))
	w := dense.Of(2, 3, []float64{1, 2, 3, 4, 5, 6})
	g := must.Have(rff.Gradients(phi, w))
	w.Set(0, 0, 9)
	assert.Equal(t, []float32{1, 4, 2, 5, 3, 6}, g.Transform(dense.Matrix[float32]{}, dense.New[float32](1, 2)).Data)

	_, err := rff.Gradients[float32](nil, w)
	assert.EqualError(t, err, "rff: phi is nil, want a map")
	_, err = rff.Gradients(phi, dense.New[float64](3, 1))
	assert.EqualError(t, err, "rff: w is 3×1, want 2 rows and at least one column")
	_, err = rff.Gradients(phi, dense.New[float64](2, 0))
	assert.EqualError(t, err, "rff: w is 2×0, want 2 rows and at least one column")
	_, err = rff.Gradients(phi, dense.Of(2, 1, []float64{1, math.NaN()}))
	assert.EqualError(t, err, "rff: w[1][0] = NaN, want a finite number")
	_, err = rff.Gradients(phi, dense.Of(2, 1, []float64{1e300, 1}))
	assert.EqualError(t, err, "rff: w[0][0] = +Inf, want a finite number")
	landmarks := must.Have(rff.Nystroem(kernels.Gaussian{}, points[float32](1, 2, 2, 1)))
	_, err = rff.Gradients[float32](landmarks, w)
	assert.EqualError(t, err, "rff: phi is Nystroem(Gaussian{LengthScale: 1}): R^2 → R^2, which is not Differentiable")
}

// A mean of 2²⁰ that an affine map subtracts costs nothing, also in float32. A point that is NaN
// changes no other row.
func TestGradientsFarFromZero(t *testing.T) {
	const mean = 1 << 20
	w := must.Have(orf.Draw[float32](orf.GramSchmidt{}, 8, 2, densetest.Source(1)))
	gaussian := must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, w))
	gradients := func(centre float64) rff.Map[float32] {
		phi := must.Have(rff.Compose(rff.Affine{Centre: []float64{centre, centre}, Factors: []float64{1, 1}}, gaussian))
		return must.Have(rff.Gradients(phi, points[float64](2, 16, 1, 1)))
	}
	near := dense.Of(3, 2, []float32{0.5, -1, 0.125, 2, 0, 1})
	far := near.Clone()
	for i := range far.Data {
		far.Data[i] += mean
	}
	want := gradients(0).Transform(dense.Matrix[float32]{}, near)
	assert.Equal(t, want, gradients(mean).Transform(dense.Matrix[float32]{}, far))
	near.Set(1, 0, float32(math.NaN()))
	got := gradients(0).Transform(dense.Matrix[float32]{}, near)
	assert.True(t, math.IsNaN(float64(got.At(1, 0))) && math.IsNaN(float64(got.At(1, 1))))
	assert.Equal(t, [][]float32{want.Row(0), want.Row(2)}, [][]float32{got.Row(0), got.Row(2)})
}
