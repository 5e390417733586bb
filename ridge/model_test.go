package ridge_test

import (
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Variances that Options gives stay, and no others have more evidence.
func TestVariancesOfMaximumEvidence(t *testing.T) {
	x, y := friedman[float64](600, 5, 1)
	sums := sumOf(t, gaussian[float64](t, 100, 5, 1, 1), x, y, nil)
	evidence := func(noise, prior float64) float64 {
		return must.Have(sums.Fit(t.Context(), ridge.Options{Noise: noise, Prior: prior})).LogEvidence()
	}
	for _, o := range []ridge.Options{{}, {Noise: 2}, {Prior: 3}, {Ratio: 0.1}, {Ratio: 0.1, Noise: 2}, {Ratio: 0.1, Prior: 20}} {
		m := must.Have(sums.Fit(t.Context(), o))
		noise, prior := m.Noise()[0], m.Prior()[0]
		assert.InDelta(t, evidence(noise, prior), m.LogEvidence(), 1e-6)
		for want, got := range map[float64]float64{o.Noise: noise, o.Prior: prior, o.Ratio: noise / prior} {
			assert.True(t, want == 0 || math.Abs(got/want-1) < 1e-12, "%+v: %v", o, got)
		}
		for _, f := range []float64{0.1, 0.9, 1.1, 10} {
			others := map[float64]bool{
				evidence(f*noise, prior):   o.Noise == 0 && o.Ratio == 0,
				evidence(noise, f*prior):   o.Prior == 0 && o.Ratio == 0,
				evidence(f*noise, f*prior): o.Noise == 0 && o.Prior == 0,
			}
			for other, allowed := range others {
				assert.True(t, !allowed || other < m.LogEvidence()+1e-3, "%+v, %v times as large", o, f)
			}
		}
		assert.True(t, o != ridge.Options{} || math.Abs(noise-1) < 0.3, "the noise of the data is 1")
	}
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

func TestFitErrors(t *testing.T) {
	phi := gaussian[float64](t, 20, 5, 1, 1)
	x, y := friedman[float64](30, 5, 1)
	for want, o := range map[string]ridge.Options{
		"ridge: Noise = -1, want a positive number, or 0 to choose by the evidence":   {Noise: -1},
		"ridge: Prior = +Inf, want a positive number, or 0 to choose by the evidence": {Prior: math.Inf(1)},
		"ridge: Ratio = NaN, want a positive number, or 0 to choose by the evidence":  {Ratio: math.NaN()},
		"ridge: Ratio = 1 beside Noise = 1 and Prior = 1, want at most two of them":   {Ratio: 1, Noise: 1, Prior: 1},
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
	line := must.Have(rff.Draw[float64](rff.Identity{D: 5}, nil))
	many, _ := friedman[float64](300, 5, 1)
	_, err = ridge.Fit(t.Context(), line, ridge.Block[float64]{X: many, Y: many.ColRange(2, 3)}, ridge.Options{Ratio: 2e-10})
	assert.ErrorContains(t, err, "which tells nothing of their noise")
	m := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{}))
	assert.PanicsWithValue(t, "ridge: x is 30×4, want 30×5", func() { m.Predict(x.ColRange(0, 4)) })
}

// Goroutines may share a model, and its predictions do not depend on their number.
func TestPredictionsInGoroutines(t *testing.T) {
	phi := gaussian[float32](t, 80, 5, 1, 1)
	x, y := friedman[float32](700, 5, 1)
	m := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[float32]{X: x, Y: y}, ridge.Options{}))
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
