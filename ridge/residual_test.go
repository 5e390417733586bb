package ridge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// sine returns points in [0, 1] and sin 6x with noise, and points in [−1, 3].
func sine[T dense.Float](n int, noise float64) (x, y, z dense.Matrix[T]) {
	rng := rand.New(rand.NewPCG(1, 9))
	x, y, z = dense.New[T](n, 1), dense.New[T](n, 1), dense.New[T](33, 1)
	for i := range n {
		x.Set(i, 0, T(rng.Float64()))
		y.Set(i, 0, T(math.Sin(6*float64(x.At(i, 0)))+noise*rng.NormFloat64()))
	}
	for i := range z.Rows {
		z.Set(i, 0, T(i)/8-1)
	}
	return x, y, z
}

func wide[T dense.Float](x dense.Matrix[T]) dense.Matrix[float64] {
	return dense.Copy(dense.Matrix[float64]{}, x)
}

// projections are maps with landmarks at the rows of x, whose kernels are exact there, with weights
// for the kernels of Sum.
func projections[T dense.Float](t *testing.T, x dense.Matrix[T]) map[string]rff.Map[T] {
	k := kernels.Gaussian{LengthScale: 0.4}
	nystroem := must.Have(rff.Nystroem(k, x))
	spec := rff.Affine{Centre: []float64{0.25}, Factors: []float64{2}}
	factor := must.Have(rff.Draw[T](spec, nil))
	other := must.Have(rff.Nystroem(kernels.Matern{Nu: 1.5, LengthScale: 1}, factor.Transform(dense.Matrix[T]{}, x)))
	composed := must.Have(rff.Compose[T](spec, other))
	identity := must.Have(rff.Draw[T](rff.Identity{D: 1}, nil))
	sum := must.Have(rff.Sum([]rff.Map[T]{identity, composed, nystroem}, []float64{0.5, 2, 0}))
	return map[string]rff.Map[T]{"Nystroem": nystroem, "Compose": composed, "Sum": sum}
}

// With landmarks at all rows, means and deviations are those of the Gaussian process of the kernel,
// near the rows and far from them, where the features vanish and the deviation is that of the
// prior.
func testDeviationsOfLandmarks[T dense.Float](t *testing.T) {
	const n, noise, prior = 40, 0.01, 2.0
	x, y, z := sine[T](n, 0.1)
	tolerance := 1e-6
	if densetest.Roundoff[T]() > 1e-10 {
		tolerance = 2e-3
	}
	for name, phi := range projections(t, x) {
		for _, intercept := range []bool{false, true} {
			o := ridge.Options{Noise: noise, Prior: prior, NoIntercept: !intercept}
			m := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[T]{X: x, Y: y}, o))
			gram := func(a, b dense.Matrix[float64]) *mat.Dense {
				return gonum.ToMat(kernels.Gram(dense.Matrix[float64]{}, phi.Kernel(), a, b))
			}
			want := processOf(t, gram, wide(x), wide(y), wide(z), nil, noise, prior, intercept)
			mean, sd := m.Posterior(z)
			_, more := m.Predict(z)
			_, approximate, err := solve(t, phi, ridge.Block[T]{X: x, Y: y}, o, ridge.Iterative{Samples: 400}, 1)
			require.NoError(t, err)
			_, estimate := approximate.Posterior(z)
			for i := range z.Rows {
				at := z.At(i, 0)
				require.InDelta(t, want.mean[i], float64(mean.At(i, 0)), tolerance, "%s at %v", name, at)
				require.InDelta(t, want.covariance.At(i, i), math.Pow(float64(sd.At(i, 0)), 2), tolerance, "%s at %v", name, at)
				require.InDelta(t, want.covariance.At(i, i)+noise, math.Pow(float64(more.At(i, 0)), 2), tolerance, "%s at %v", name, at)
				_, own := m.Predict(z.RowRange(i, i+1))
				require.InEpsilon(t, float64(more.At(i, 0)), float64(own.At(0, 0)), 1e-6, "%s at %v", name, at)
				// Four standard errors of 400 samples.
				require.InEpsilon(t, float64(sd.At(i, 0)), float64(estimate.At(i, 0)), 4/math.Sqrt(800), "%s at %v", name, at)
			}
		}
	}
}

func TestDeviationsOfLandmarks(t *testing.T) {
	densetest.Both(t, testDeviationsOfLandmarks[float32], testDeviationsOfLandmarks[float64])
}

// Functions of Pathwise with landmarks have the law of the process of the kernel, also far from the
// rows. Of 70 numbers none is 5 standard errors of 400 functions off. The random features of the
// prior add their error to covariances, at most 1/√1024 of the prior, a third of a standard error.
func TestPathwiseOfLandmarks(t *testing.T) {
	const n, noise, prior = 400, 0.05, 2.0
	x, y, _ := sine[float64](30, 0.2)
	z := dense.Of(7, 1, []float64{-3, -0.2, 0.3, 0.9, 1.3, 1.5, 5})
	for name, phi := range projections(t, x) {
		if name == "Sum" {
			continue // the error of the features is larger
		}
		m := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{Noise: noise, Prior: prior}))
		gram := func(a, b dense.Matrix[float64]) *mat.Dense {
			return gonum.ToMat(kernels.Gram(dense.Matrix[float64]{}, phi.Kernel(), a, b))
		}
		want := processOf(t, gram, x, y, z, nil, noise, prior, true)
		f := must.Have(m.Pathwise(x, y, nil, n, 0, rand.NewPCG(1, 2)))
		assert.Less(t, moments(f, z, want), 5.0, name)
		f = must.Have(m.Sample(n, 0, rand.NewPCG(1, 2)))
		assert.Greater(t, moments(f, z, want), 5.0, "%s: weights lack a part of the variance", name)
	}
	k := must.Have(rff.Nystroem(kernels.RationalQuadratic{}, x))
	m := must.Have(ridge.Fit(t.Context(), k, ridge.Block[float64]{X: x, Y: y}, ridge.Options{Noise: noise, Prior: prior}))
	_, err := m.Pathwise(x, y, nil, 1, 0, rand.NewPCG(1, 2))
	assert.ErrorContains(t, err, "ridge: features of the prior: rff: k is RationalQuadratic")
}

// The parts of variances make the deviations of Posterior, and the leverages of all rows sum to the
// degrees of freedom.
func testVariances[T dense.Float](t *testing.T) {
	x, y, z := sine[T](50, 0.1)
	weights := make([]T, 50)
	for i := range weights {
		weights[i] = T(1 + i%3)
	}
	for _, count := range []int{5, 50} {
		phi := must.Have(rff.Nystroem(kernels.Gaussian{LengthScale: 0.4}, x.RowRange(0, count)))
		m := must.Have(sumOf(t, phi, x, y, weights).Fit(t.Context(), ridge.Options{}))
		mean, g, r := m.Variances(z)
		want, sd := m.Posterior(z)
		assert.Equal(t, want, mean)
		for i := range g {
			require.InEpsilon(t, math.Sqrt(m.Noise()[0]*(g[i]+r[i])), float64(sd.At(i, 0)), 1e-6)
		}
		assert.Greater(t, r[0], 1.0)
		_, g, r = m.Variances(x)
		sum := 0.0
		for i, w := range weights {
			sum += float64(w) * g[i]
			assert.True(t, i >= count || r[i] == 0, "row %d is a landmark: %v", i, r[i])
		}
		assert.InEpsilon(t, m.DegreesOfFreedom(), sum, 1e-5)
	}
}

func TestVariances(t *testing.T) { densetest.Both(t, testVariances[float32], testVariances[float64]) }
