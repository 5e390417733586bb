package ridge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Rescaled sums are the sums of a pass with the rescaled map, to the rounding of its features, and
// those of powers of 4 are the same bits. Means of targets and features are large, rows have
// weights.
func TestRescaledSumsAreThoseOfAPass(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testRescaled[float32](t, 2e-6) })
	t.Run("type=float64", func(t *testing.T) { testRescaled[float64](t, 1e-12) })
}

func testRescaled[T dense.Float](t *testing.T, tolerance float64) {
	const n, d = 700, 6
	x, y := friedman[T](n, d, 1)
	weights := make([]T, n)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range weights {
		weights[i] = T(rng.Float64())
		y.Set(i, 0, y.At(i, 0)+100)
	}
	offset := make([]T, 70)
	for f := range offset {
		offset[f] = 1000
	}
	far, err := rff.Affine(densetest.Normal[T](rng, 70, d, 0, 1), offset)
	require.NoError(t, err)
	maps := []rff.Map[T]{gaussian[T](t, 100, d, 1, 1), far, gaussian[T](t, 30, d, 2, 2)}
	sum := func(weights ...float64) (rff.Map[T], []float64) {
		phi, err := rff.Sum(maps, weights)
		require.NoError(t, err)
		var scales []float64
		for k, m := range maps {
			_, width := m.Dims()
			for range width {
				scales = append(scales, math.Sqrt(weights[k]))
			}
		}
		return phi, scales
	}
	ones, _ := sum(1, 1, 1)
	s := sumOf(t, ones, x, y, weights)
	before := numbers(t, s)
	for _, c := range [][]float64{{4, 0.25, 1}, {0.3, 7, 0}, {1e-9, 0.5, 1e6}} {
		phi, scales := sum(c...)
		r, err := s.Rescaled(phi, scales)
		require.NoError(t, err)
		assert.Equal(t, before, numbers(t, s))
		assert.Same(t, phi, r.Map())
		assert.Equal(t, s.Rows(), r.Rows())
		pass := sumOf(t, phi, x, y, weights)
		weight, mean, scatter := r.Features()
		wantWeight, wantMean, wantScatter := pass.Features()
		assert.Equal(t, wantWeight, weight)
		for f, v := range wantMean {
			require.InDelta(t, v, mean[f], tolerance*math.Abs(v)+1e-300)
		}
		for f := range wantScatter.Rows {
			for g, v := range wantScatter.Row(f)[:f+1] {
				// A rounding of a feature is relative to the feature, and rows spread about its mean.
				size := math.Sqrt(wantScatter.At(f, f)*wantScatter.At(g, g)) + math.Sqrt(wantScatter.At(f, f)*weight)*math.Abs(mean[g]) +
					math.Sqrt(wantScatter.At(g, g)*weight)*math.Abs(mean[f])
				require.InDelta(t, v, scatter.At(f, g), tolerance*size+1e-300)
			}
		}
		if c[0] == 4 {
			assertClose(t, numbers(t, pass), numbers(t, r), 1e-13)
		}
		// They are sums like any other.
		require.NoError(t, r.Merge(pass))
		assert.Equal(t, 2*s.Rows(), r.Rows())
		assert.Error(t, r.Merge(s))
	}
}

func TestRescaledErrors(t *testing.T) {
	x, y := friedman[float64](50, 6, 1)
	phi := gaussian[float64](t, 20, 6, 1, 1)
	s := sumOf(t, phi, x, y, nil)
	scales := make([]float64, 40)
	for f := range scales {
		scales[f] = 2
	}
	four, err := rff.Sum([]rff.Map[float64]{phi}, []float64{4})
	require.NoError(t, err)
	_, err = s.Rescaled(four, scales)
	require.NoError(t, err)
	_, err = s.Rescaled(nil, scales)
	assert.EqualError(t, err, "ridge: phi is nil, want a feature map")
	_, err = s.Rescaled(phi, scales)
	assert.EqualError(t, err, "ridge: phi does not compute the features of the sums times scales")
	_, err = s.Rescaled(four, scales[:39])
	assert.EqualError(t, err, "ridge: 39 scales, want 40")
	_, err = s.Rescaled(gaussian[float64](t, 21, 6, 1, 1), scales)
	assert.EqualError(t, err, "ridge: phi maps R^6 to R^42, want R^6 to R^40")
	scales[7] = math.NaN()
	_, err = s.Rescaled(four, scales)
	assert.EqualError(t, err, "ridge: scales[7] = NaN, want a finite number")
}

// The parts of features add up to the degrees of freedom, and are those of a dense inverse for
// features that do not depend on each other.
func TestFeatureDegrees(t *testing.T) {
	x, y := friedman[float64](300, 6, 1)
	for _, o := range []ridge.Options{{}, {NoIntercept: true}} {
		m, err := sumOf(t, gaussian[float64](t, 100, 6, 1, 1), x, y, nil).Fit(t.Context(), o)
		require.NoError(t, err)
		total := 1.0
		if o.NoIntercept {
			total = 0
		}
		for _, v := range m.FeatureDegrees() {
			assert.True(t, v > 0 && v < 1, v)
			total += v
		}
		assert.InDelta(t, m.DegreesOfFreedom(), total, 1e-9)
	}
	columns := dense.Of(4, 2, []float64{1, 3, -1, 3, 1, -3, -1, -3})
	identity, err := rff.Identity[float64](2)
	require.NoError(t, err)
	m, err := ridge.Fit(t.Context(), identity, columns, dense.Of(4, 1, []float64{1, 2, 3, 5}), ridge.Options{Noise: 2, Prior: 1})
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{4.0 / 6, 36.0 / 38}, m.FeatureDegrees(), 1e-14)
	assert.Panics(t, func() { new(ridge.Model[float64]).FeatureDegrees() })
}
