package ridge_test

import (
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

// The variances are those of maximum evidence: no others have more, given one of them or none.
func TestVariancesOfMaximumEvidence(t *testing.T) {
	phi := gaussian[float64](t, 100, 5, 1, 1)
	x, y := friedman[float64](600, 5, 1)
	sums := sumOf(t, phi, x, y, nil)
	evidence := func(noise, signal float64) float64 {
		m, err := sums.Fit(t.Context(), ridge.Options{Noise: noise, Prior: signal})
		require.NoError(t, err)
		return m.LogEvidence()
	}
	for _, o := range []ridge.Options{{}, {Noise: 2}, {Prior: 3}} {
		m, err := sums.Fit(t.Context(), o)
		require.NoError(t, err)
		noise, signal := m.Noise()[0], m.Prior()[0]
		assert.InDelta(t, evidence(noise, signal), m.LogEvidence(), 1e-6)
		for _, f := range []float64{0.1, 0.9, 1.1, 10} {
			if o.Noise == 0 {
				assert.Less(t, evidence(f*noise, signal), m.LogEvidence()+1e-3)
			} else {
				assert.Equal(t, o.Noise, noise)
			}
			if o.Prior == 0 {
				assert.Less(t, evidence(noise, f*signal), m.LogEvidence()+1e-3)
			} else {
				assert.InEpsilon(t, o.Prior, signal, 1e-12)
			}
		}
	}
	m, err := sums.Fit(t.Context(), ridge.Options{})
	require.NoError(t, err)
	assert.InDelta(t, 1, m.Noise()[0], 0.3, "the noise of the data is 1")
}

// A fit never holds the features of all rows, 41 MB here. It holds the sums, four triangles or
// squares of order D in float64, and blocks of features of a megabyte.
func TestFitIsSmall(t *testing.T) {
	const n, width = 40000, 128
	phi := gaussian[float64](t, width/2, 5, 1, 1)
	x, y := friedman[float64](n, 5, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{Noise: 1, Prior: 10})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

// The degrees of freedom are the derivatives of predictions by their targets.
func TestDegreesOfFreedom(t *testing.T) {
	const n = 50
	phi := gaussian[float64](t, 90, 5, 1, 1)
	x, y := friedman[float64](n, 5, 1)
	for _, o := range []ridge.Options{{Noise: 1, Prior: 5}, {Noise: 1, Prior: 5, NoIntercept: true}} {
		unit := dense.New[float64](n, n)
		for i := range n {
			unit.Set(i, i, 1)
		}
		m, err := ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: unit}, o)
		require.NoError(t, err)
		trace := 0.0
		for i, h := range m.Mean(dense.Matrix[float64]{}, x).Data {
			if i%(n+1) == 0 {
				trace += h
			}
		}
		one, err := ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, o)
		require.NoError(t, err)
		assert.InDelta(t, trace, one.DegreesOfFreedom(), 1e-9)
		assert.Equal(t, one.DegreesOfFreedom(), one.DegreesOfFreedom())
	}
}

func TestFitErrors(t *testing.T) {
	phi := gaussian[float64](t, 20, 5, 1, 1)
	x, y := friedman[float64](30, 5, 1)
	for want, o := range map[string]ridge.Options{
		"ridge: Noise = -1, want a positive number, or 0 to choose by the evidence":   {Noise: -1},
		"ridge: Prior = +Inf, want a positive number, or 0 to choose by the evidence": {Prior: math.Inf(1)},
	} {
		_, err := ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, o)
		assert.EqualError(t, err, want)
	}
	_, err := ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{Noise: 1e-300, Prior: 1})
	assert.ErrorContains(t, err, "ridge: Noise/Prior = 1e-300, want more than ")
	_, err = ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x.RowRange(0, 1), Y: y.RowRange(0, 1)}, ridge.Options{})
	assert.EqualError(t, err, "ridge: 1 effective rows tell nothing of the noise, want at least 2, or Noise and Prior")
	_, err = ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x.RowRange(0, 1), Y: y.RowRange(0, 1)}, ridge.Options{Noise: 1, Prior: 1})
	assert.NoError(t, err)
	_, err = ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: dense.New[float64](30, 1)}, ridge.Options{})
	assert.EqualError(t, err, "ridge: output 0 does not vary, which tells nothing of its noise: want Noise or Prior")
	_, err = ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: dense.New[float64](30, 5), Y: y}, ridge.Options{})
	assert.Error(t, err)
	m, err := ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{})
	require.NoError(t, err)
	assert.PanicsWithValue(t, "ridge: x is 30×4, want 30×5", func() { m.Predict(x.ColRange(0, 4)) })
}

// Goroutines may share a model, and its predictions do not depend on their number.
func TestPredictionsInGoroutines(t *testing.T) {
	phi := gaussian[float32](t, 80, 5, 1, 1)
	x, y := friedman[float32](700, 5, 1)
	m, err := ridge.Fit(t.Context(), phi, ridge.Block[float32]{X: x, Y: y}, ridge.Options{})
	require.NoError(t, err)
	mean, sd := m.Predict(x)
	one, own := m.Predict(x.RowRange(3, 4))
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			again, deviation := m.Predict(x)
			assert.Equal(t, mean, again)
			assert.Equal(t, sd, deviation)
			again, deviation = m.Predict(x.RowRange(3, 4))
			assert.Equal(t, one, again)
			assert.Equal(t, own, deviation)
			dst := dense.New[float32](700, 3).ColRange(1, 2)
			assert.Equal(t, mean, m.Mean(dst, x).Clone())
		})
	}
	wait.Wait()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	again, deviation := m.Predict(x)
	assert.Equal(t, mean, again)
	assert.Equal(t, sd, deviation)
}
