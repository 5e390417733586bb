package ridge_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// testGradient compares with central differences of the evidence, features being the points
// themselves.
func testGradient[T dense.Float](t *testing.T, tolerance float64) {
	const n, d, outputs, step = 150, 7, 2, 1e-4
	rng := rand.New(rand.NewPCG(1, 2))
	phi, err := rff.Draw[T](rff.Identity{D: d}, nil)
	require.NoError(t, err)
	x, y := densetest.Normal[T](rng, n, d, 3, 1), densetest.Normal[T](rng, n, outputs, -20, 1)
	weights := make([]T, n)
	for i := range weights {
		weights[i] = T(i%4) / 2
		for j := range outputs {
			y.Row(i)[j] += x.At(i, j) - 2*x.At(i, j+1)
		}
	}
	wide, _ := rff.Draw[float64](rff.Identity{D: d}, nil)
	x64, y64 := dense.Copy(dense.Matrix[float64]{}, x), dense.Copy(dense.Matrix[float64]{}, y)
	weights64 := make([]float64, n)
	for i, w := range weights {
		weights64[i] = float64(w)
	}
	for _, o := range []ridge.Options{{Noise: 0.5, Prior: 2}, {Noise: 2, Prior: 0.1, NoIntercept: true}, {Ratio: 3}} {
		m, err := sumOf(t, phi, x, y, weights).Fit(t.Context(), o)
		require.NoError(t, err)
		got, err := m.Gradient(dense.Matrix[T]{}, x, y, weights)
		require.NoError(t, err)
		moved := func(i, j int, by float64) float64 {
			z := x64.Clone()
			z.Row(i)[j] += by
			m, err := sumOf(t, wide, z, y64, weights64).Fit(t.Context(), o)
			require.NoError(t, err)
			return m.LogEvidence()
		}
		size := 0.0
		for _, v := range got.Data {
			size = max(size, math.Abs(float64(v)))
		}
		for _, i := range []int{0, 1, 2, 77, 127, 128, n - 1} {
			for j := range d {
				want := (8*(moved(i, j, step)-moved(i, j, -step)) - moved(i, j, 2*step) + moved(i, j, -2*step)) / (12 * step)
				assert.InDelta(t, want, float64(got.At(i, j)), tolerance*size, "(%d, %d) %+v", i, j, o)
			}
		}
	}
}

func TestGradientIsTheDerivativeOfTheEvidence(t *testing.T) {
	densetest.Both(t,
		func(t *testing.T) { testGradient[float32](t, 1e-5) },
		func(t *testing.T) { testGradient[float64](t, 1e-7) })
}

func testGradientOfParts[T dense.Float](t *testing.T) {
	x, y := friedman[T](300, 5, 1)
	m, err := ridge.Fit(t.Context(), gaussian[T](t, 70, 5, 1, 1), ridge.Block[T]{X: x, Y: y}, ridge.Options{})
	require.NoError(t, err)
	all, err := m.Gradient(dense.Matrix[T]{}, x, y, nil)
	require.NoError(t, err)
	for _, processors := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(processors)
		again, err := m.Gradient(dense.Matrix[T]{}, x, y, nil)
		runtime.GOMAXPROCS(before)
		require.NoError(t, err)
		require.Equal(t, all.Data, again.Data, "%d processors", processors)
	}
	some, err := m.Gradient(dense.New[T](45, 140), x.RowRange(128, 173), y.RowRange(128, 173), nil)
	require.NoError(t, err)
	for i := range some.Rows {
		require.Equal(t, all.Row(128+i), some.Row(i), "rows that are alone")
	}
}

func TestGradientDoesNotDependOnProcessors(t *testing.T) {
	densetest.Both(t, testGradientOfParts[float32], testGradientOfParts[float64])
}

// A row of weight 0 has the gradient 0 even where its features are infinite.
func TestGradientOfRowsWithoutWeight(t *testing.T) {
	phi, err := rff.Draw[float32](rff.Quadratic{D: 2}, nil)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := densetest.Normal[float32](rng, 20, 2, 0, 1), densetest.Normal[float32](rng, 20, 1, 0, 1)
	weights := make([]float32, 20)
	for i := range weights {
		weights[i] = 1
	}
	weights[3] = 0
	x.Set(3, 0, 1e30)
	m, err := sumOf(t, phi, x, y, weights).Fit(t.Context(), ridge.Options{})
	require.NoError(t, err)
	g, err := m.Gradient(dense.Matrix[float32]{}, x, y, weights)
	require.NoError(t, err)
	assert.Equal(t, []float32{0, 0, 0}, g.Row(3))
	for _, v := range g.Data {
		assert.False(t, v != v)
	}
}

func TestGradientErrors(t *testing.T) {
	x, y := friedman[float64](50, 5, 1)
	_, err := (&ridge.Model[float64]{}).Gradient(dense.Matrix[float64]{}, x, y, nil)
	require.EqualError(t, err, "ridge: the Model is zero, want a fitted one")
	m, err := ridge.Fit(t.Context(), gaussian[float64](t, 10, 5, 1, 1), ridge.Block[float64]{X: x, Y: y}, ridge.Options{})
	require.NoError(t, err)
	_, err = m.Gradient(dense.Matrix[float64]{}, x.ColRange(0, 4), y, nil)
	require.EqualError(t, err, "ridge: x is 50×4, want 5 columns")
	_, err = m.Gradient(dense.Matrix[float64]{}, x, y, make([]float64, 49))
	require.EqualError(t, err, "ridge: 49 weights for 50 rows")
	assert.Panics(t, func() { _, _ = m.Gradient(dense.New[float64](50, 19), x, y, nil) })
	x.Set(17, 2, math.NaN())
	_, err = m.Gradient(dense.Matrix[float64]{}, x, y, nil)
	require.ErrorContains(t, err, "ridge: x[17][2] = NaN")
}

// A ratio stands for the noise and the prior that are chosen for it.
func TestRatio(t *testing.T) {
	x, y := friedman[float64](300, 5, 1)
	sums := sumOf(t, gaussian[float64](t, 30, 5, 1, 1), x, y, nil)
	best, err := sums.Fit(t.Context(), ridge.Options{})
	require.NoError(t, err)
	ratio := best.Noise()[0] / best.Prior()[0]
	m, err := sums.Fit(t.Context(), ridge.Options{Ratio: ratio})
	require.NoError(t, err)
	assert.InDelta(t, best.LogEvidence(), m.LogEvidence(), 1e-6)
	for _, o := range []ridge.Options{{Ratio: 0.1}, {Ratio: 0.1, Noise: 2}, {Ratio: 0.1, Prior: 20}} {
		m, err := sums.Fit(t.Context(), o)
		require.NoError(t, err)
		assert.InEpsilon(t, 0.1, m.Noise()[0]/m.Prior()[0], 1e-12, "%+v", o)
		if o.Noise > 0 {
			assert.InEpsilon(t, o.Noise, m.Noise()[0], 1e-12)
		}
		if o.Prior > 0 {
			assert.InEpsilon(t, o.Prior, m.Prior()[0], 1e-12)
		}
		same, err := sums.Fit(t.Context(), ridge.Options{Noise: m.Noise()[0], Prior: m.Prior()[0]})
		require.NoError(t, err)
		assert.InDelta(t, same.LogEvidence(), m.LogEvidence(), 1e-8)
		if o == (ridge.Options{Ratio: 0.1}) {
			for _, f := range []float64{0.9, 1.1} {
				other, err := sums.Fit(t.Context(), ridge.Options{Ratio: 0.1, Noise: f * m.Noise()[0]})
				require.NoError(t, err)
				assert.Less(t, other.LogEvidence(), m.LogEvidence())
			}
		}
	}
	for _, v := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, err := sums.Fit(t.Context(), ridge.Options{Ratio: v})
		assert.ErrorContains(t, err, "ridge: Ratio = ")
	}
	_, err = sums.Fit(t.Context(), ridge.Options{Ratio: 1, Noise: 1, Prior: 1})
	require.EqualError(t, err, "ridge: Ratio = 1 beside Noise = 1 and Prior = 1, want at most two of them")
	_, err = sums.Fit(t.Context(), ridge.Options{Ratio: 1e-300})
	require.ErrorContains(t, err, "want more than ")

	// Targets that the features have exactly tell no noise.
	line, err := rff.Draw[float64](rff.Identity{D: 5}, nil)
	require.NoError(t, err)
	_, err = sumOf(t, line, x, x.ColRange(2, 3), nil).Fit(t.Context(), ridge.Options{Ratio: 2e-10})
	require.ErrorContains(t, err, "which tells nothing of their noise")
}
