package main

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/performer/estimate"
)

// On the vectors of the text, the errors of nine in ten outputs over 12 draws are within a factor
// of 2 of the prediction. In a single draw only 75 % may be, because outputs share rare
// frequencies. Predictions that are wrong by a factor of 3 fail.
func TestPredictionsOnText(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds in pure Go")
	}
	const draws = 12
	s := settings{seed: 1, length: 512, norm: 5}
	in, err := fromText(s)
	require.NoError(t, err)
	c := comparisonOf(t, s, in)
	h := c.heads[0]
	for _, m := range []int{64, 256, 1024} {
		src, turns := frequencySource(s.seed, "gram-schmidt", m), source(s.seed, "rotations")
		var right, low, high float64
		for range draws {
			w, err := frequencies[float32]("gram-schmidt", m, dim, src)
			require.NoError(t, err)
			f, err := features("positive", w, c.scale)
			require.NoError(t, err)
			a, err := c.linear(f)
			require.NoError(t, err)
			p, err := estimate.NewPredictor(f, estimate.PredictorOptions{Causal: c.causal}, turns)
			require.NoError(t, err)
			predicted := p.Predict(nil, h.q, h.k, h.v)
			measured := rowErrors(a.Forward(dense.Matrix[float32]{}, h.q, h.k, h.v), c.exact[0])
			right += withinTwo(measured, predicted) / draws
			for i := range predicted {
				predicted[i] *= 3
			}
			high += withinTwo(measured, predicted) / draws
			for i := range predicted {
				predicted[i] /= 9
			}
			low += withinTwo(measured, predicted) / draws
		}
		assert.GreaterOrEqual(t, right, 0.9, "m = %d", m)
		assert.Less(t, max(low, high), 0.5, "m = %d", m)
	}
}

func TestWithinTwo(t *testing.T) {
	assert.Equal(t, 0.5, withinTwo([]float64{1, 2.1, 0, 0.4}, []float64{2, 1, 1e-7, 1}))
	assert.Zero(t, withinTwo([]float64{math.NaN()}, []float64{math.NaN()}))
}

func TestQuality(t *testing.T) {
	assert.Equal(t, quality{}, qualityOf(nil))
	e := []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	assert.Equal(t, quality{median: 5, most: 9}, qualityOf(e))
	assert.Equal(t, 10.0, e[0], "errors stay in order")
	assert.Equal(t, quality{median: 2, most: math.Inf(1)}, qualityOf([]float64{2, math.NaN(), 1}))
}

// A false alarm beyond 4 standard errors is one in 16,000 at one seed.
func TestRatios(t *testing.T) {
	in := tensors[float32](1, ratioTokens, 8, 0.9)
	h := &in.heads[0]
	h.q, h.v = h.k, h.k // as of a text
	s := settings{seed: 1, draws: 3, ratioDraws: 400}
	for _, causal := range []bool{false, true} {
		s.causal = causal
		rows, err := comparisonOf(t, s, in).ratios()
		require.NoError(t, err)
		require.Len(t, rows, len(ratioSizes)+1)
		first, last := rows[0], rows[len(ratioSizes)-1]
		assert.Less(t, first.mean/first.stderr, -10.0)
		assert.InDelta(t, 8, first.mean/last.mean, 4, "as 1/m, from 16 to 128")
		unbiased := rows[len(rows)-1]
		assert.Less(t, math.Abs(unbiased.mean/unbiased.stderr), 4.0)
		assert.Less(t, unbiased.stderr, math.Abs(rows[1].mean)/4, "it would show a bias like that of the ratio")
	}
}

func TestComponent(t *testing.T) {
	x := dense.Of(1, 2, []float64{3, 4})
	assert.Equal(t, 1.0, component(x, x))
	assert.InDelta(t, 0.12, component(dense.Of(1, 2, []float64{1, 0}), x), 1e-15)
}

func TestExtrasAreReported(t *testing.T) {
	t.Chdir(t.TempDir())
	out := clitest.Output(t, run, quick("-map", "positive", "-projection", "iid,givens")...)
	assert.Contains(t, out, "One draw of iid frequencies")
	assert.Regexp(t, `(?m)^positive +\d`, out)
	assert.Regexp(t, `(?m)^FAVOR\+, iid +\d`, out)
	assert.Regexp(t, `(?m)^chosen: \w`, out)
	assert.Regexp(t, `(?m)^unbiased +32 +[+-]0\.\d+ ± 0\.`, out)
	assert.Equal(t, len(ratioSizes), strings.Count(out, "\nratio "))
}

// Points of R^1 cannot be rotated.
func TestNoPredictionsInOneDimension(t *testing.T) {
	c := comparisonOf(t, settings{draws: 2, ratioDraws: 20, chosen: selection{maps: mapNames, m: 8}}, tensors[float64](1, 20, 1, 1))
	var b strings.Builder
	require.NoError(t, c.extras(&b))
	assert.NotContains(t, b.String(), "predicted")
	assert.Contains(t, b.String(), "unbiased")
}
