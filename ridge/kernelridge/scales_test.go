package kernelridge

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

// uneven returns n rows of 4 columns, of which one varies fast, one slowly, and two do not matter.
func uneven(n int) ridge.Block[float64] {
	rng := rand.New(rand.NewPCG(1, 2))
	b := ridge.Block[float64]{X: dense.New[float64](n, 4), Y: dense.New[float64](n, 1), Weights: make([]float64, n)}
	for i := range n {
		for j := range 4 {
			b.X.Set(i, j, 2*rng.Float64())
		}
		b.Y.Set(i, 0, math.Sin(5*b.X.At(i, 0))+b.X.At(i, 1)+0.1*rng.NormFloat64())
		b.Weights[i] = 1 + float64(i%3)
	}
	return b
}

// Scales finds which columns matter, and errors fall below those with one length-scale.
func TestScales(t *testing.T) {
	b := uneven(300)
	k := kernels.Matern{Nu: 2.5}
	one := must.Have(Choose(t.Context(), []kernels.Kernel{k}, b, rand.NewPCG(1, 2)))
	scaled, choice, err := Scales(t.Context(), k, b, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.Less(t, choice.Score, one.Score/2)
	assert.Greater(t, scaled.A.At(0, 0), 2*scaled.A.At(1, 1))
	assert.Greater(t, scaled.A.At(1, 1), 2*scaled.A.At(2, 2))
	again := must.Have(Choose(t.Context(), []kernels.Kernel{scaled}, b, rand.NewPCG(1, 2)))
	// λ of Choose are a factor of 4 apart
	assert.InDelta(t, choice.Score, again.Score, 0.1*choice.Score)
	_, _, err = Scales(t.Context(), kernels.Laplacian{}, b, rand.NewPCG(1, 2))
	assert.EqualError(t, err, "kernelridge: k is a kernels.Laplacian, want a kernels.Gaussian or kernels.Matern")
}

// Length-scales of linear columns grow until λ is at its floor, where Fit still solves.
func TestScalesOfLinearColumns(t *testing.T) {
	b := uneven(80)
	for i := range b.X.Rows {
		b.Y.Set(i, 0, b.X.At(i, 0)-b.X.At(i, 1)+1e-3*math.Sin(float64(i)))
	}
	k, choice, err := Scales(t.Context(), kernels.Gaussian{}, b, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.Greater(t, choice.Ratio, 0x1p-23)
	assert.Less(t, choice.Ratio, 1e-4)
	r := must.Have(Fit(t.Context(), k, b, Options{Ratio: choice.Ratio, Src: rand.NewPCG(1, 2)}))
	assert.Less(t, r.Model.Noise()[0], 1e-5)
}
