package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// Gradients are differences of f_j = φᵀw_j, for a map and for a map after an affine one. The third
// derivatives of f are below 300.
func TestGradients(t *testing.T) {
	const m, d, p, step = 40, 3, 2, 1e-4
	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, densetest.Source(1))
	require.NoError(t, err)
	gaussian, err := rff.Gaussian(w, 1.5)
	require.NoError(t, err)
	scale, err := rff.Scale[float64]([]float64{1, 0, -1}, []float64{0.5, 2, 1})
	require.NoError(t, err)
	composed, err := rff.Compose(scale, gaussian)
	require.NoError(t, err)
	weights := points[float64](2, 2*m, p, 1)
	x := points[float64](3, 300, d, 1)
	for _, phi := range []rff.Map[float64]{gaussian, composed} {
		g, err := rff.Gradients(phi, weights)
		require.NoError(t, err)
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
					require.InDelta(t, difference, got.At(i, o*d+j), 300*step*step/6+1e-9, "row %d, f_%d, x_%d", i, o, j)
				}
			}
		}
	}
}

func TestGradientsOfFloat32(t *testing.T) {
	phi, err := rff.Identity[float32](2)
	require.NoError(t, err)
	w := dense.Of(2, 3, []float64{1, 2, 3, 4, 5, 6})
	g, err := rff.Gradients(phi, w)
	require.NoError(t, err)
	w.Set(0, 0, 9)
	assert.Equal(t, []float32{1, 4, 2, 5, 3, 6}, g.Transform(dense.Matrix[float32]{}, dense.New[float32](1, 2)).Data)

	_, err = rff.Gradients[float32](nil, w)
	assert.EqualError(t, err, "rff: phi is nil, want a map")
	_, err = rff.Gradients(phi, dense.New[float64](3, 1))
	assert.EqualError(t, err, "rff: w is 3×1, want 2 rows and at least one column")
	_, err = rff.Gradients(phi, dense.New[float64](2, 0))
	assert.EqualError(t, err, "rff: w is 2×0, want 2 rows and at least one column")
	_, err = rff.Gradients(phi, dense.Of(2, 1, []float64{1, math.NaN()}))
	assert.EqualError(t, err, "rff: w[1][0] = NaN, want a finite number")
	_, err = rff.Gradients(phi, dense.Of(2, 1, []float64{1e300, 1}))
	assert.EqualError(t, err, "rff: w[0][0] = +Inf, want a finite number")
	landmarks, err := rff.Nystroem(kernels.Gaussian{}, points[float32](1, 2, 2, 1))
	require.NoError(t, err)
	_, err = rff.Gradients[float32](landmarks, w)
	assert.EqualError(t, err, "rff: phi is Nystroem(Gaussian{LengthScale: 1}): R^2 → R^2, which is not Differentiable")
}
