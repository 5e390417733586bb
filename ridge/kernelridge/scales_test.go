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

// Scales finds which columns matter, and errors fall below those with one length-scale. Scales does
// not depend on the means of columns.
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
	far := uneven(300)
	for i := range far.X.Data {
		far.X.Data[i] += 1e7
	}
	_, other, err := Scales(t.Context(), k, far, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.InDelta(t, choice.Score, other.Score, 0.01*choice.Score)
	_, _, err = Scales(t.Context(), kernels.Laplacian{}, b, rand.NewPCG(1, 2))
	assert.EqualError(t, err, "kernelridge: k is a kernels.Laplacian, want a kernels.Gaussian or kernels.Matern")
}

// Rows of four kinds in turn, of which one tells the function: the part of the rows on which Scales
// begins has all kinds.
func TestScalesOfRowsInTurn(t *testing.T) {
	b := uneven(1000)
	b.Weights = nil
	for i := range b.X.Rows {
		kind := float64(i % 4)
		b.X.Set(i, 3, kind)
		b.Y.Set(i, 0, kind*math.Sin(3*b.X.At(i, 0))+b.Y.At(i, 0)/1e3)
	}
	_, choice, err := Scales(t.Context(), kernels.Gaussian{LengthScale: 2}, b, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.Less(t, choice.Score, 0.05)
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

const fourNoise = 0.2

// fourOfTwenty returns n rows of 20 columns, of which four tell the target.
func fourOfTwenty(n int, seed uint64) ridge.Block[float32] {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := ridge.Block[float32]{X: dense.New[float32](n, 20), Y: dense.New[float32](n, 1)}
	for i := range n {
		x := b.X.Row(i)
		for j := range x {
			x[j] = rng.Float32()
		}
		u, v, w, z := float64(x[0]), float64(x[6]), float64(x[10]), float64(x[19])
		b.Y.Set(i, 0, float32(math.Sin(12*u)+math.Sin(5*v*w)+1.5*z+fourNoise*rng.NormFloat64()))
	}
	return b
}

// Scales finds the columns of a sine of two periods and of a product among 20 columns. With the
// kernel of Scales the error at other rows is near the noise, as a linear column, of a fifth of the
// variance, must be in use too. One length-scale leaves more than three times the noise.
func TestFourOfTwentyColumns(t *testing.T) {
	b, other := fourOfTwenty(400, 3), fourOfTwenty(500, 103)
	rmse := func(k kernels.Kernel, ratio float64) float64 {
		r := must.Have(Fit(t.Context(), k, b, Options{Ratio: ratio, Src: rand.NewPCG(1, 2)}))
		squares := 0.0
		for i, v := range r.Model.Mean(dense.Matrix[float32]{}, other.X).Data {
			squares += math.Pow(float64(v-other.Y.Data[i]), 2)
		}
		return math.Sqrt(squares / float64(other.X.Rows))
	}
	k := kernels.Matern{Nu: 2.5}
	one := must.Have(Choose(t.Context(), []kernels.Kernel{k}, b, rand.NewPCG(1, 2)))
	scaled, choice, err := Scales(t.Context(), k, b, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.Greater(t, rmse(k, one.Ratio), 3*fourNoise)
	assert.Less(t, rmse(scaled, choice.Ratio), 1.25*fourNoise)
	for j := range 20 {
		if j != 0 && j != 6 && j != 10 && j != 19 {
			for _, found := range []int{0, 6, 10} {
				assert.Greater(t, scaled.A.At(found, found), 5*scaled.A.At(j, j), "columns %d and %d", found, j)
			}
		}
	}
}

// Scales finds the sine also in samples where L-BFGS from equal length-scales alone misses it, as a
// Score of 0.5 would show.
func TestScalesOfShortColumns(t *testing.T) {
	for k, seeds := range map[kernels.Kernel][]uint64{kernels.Gaussian{}: {1, 2}, kernels.Matern{Nu: 2.5}: {4}} {
		for _, seed := range seeds {
			_, choice, err := Scales(t.Context(), k, fourOfTwenty(250, seed), rand.NewPCG(1, 2))
			require.NoError(t, err)
			assert.Less(t, choice.Score, 0.1, "%v, sample %d", k, seed)
		}
	}
}
