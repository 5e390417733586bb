package orf_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
)

// Coordinates are below the quantiles of the Cauchy law as often as they should be, to four
// standard errors, which those of the normal law are not. Frequencies of float32 are those of
// float64, rounded, and the first of many are those of few.
func TestCauchy(t *testing.T) {
	const m, d = 5000, 4
	below := func(e orf.Ensemble, p float64) float64 {
		w := must.Have(orf.Draw[float64](e, m, d, exprand.NewSource(1)))
		count, quantile := 0.0, math.Tan(math.Pi*(p-0.5))
		for _, v := range w.Frequencies().Data {
			if v < quantile {
				count++
			}
		}
		return (count - p*m*d) / math.Sqrt(p*(1-p)*m*d)
	}
	for _, p := range []float64{0.01, 0.25, 0.5, 0.75, 0.99} {
		assert.InDelta(t, 0, below(orf.Cauchy{}, p), 4, "quantile %v", p)
	}
	assert.Greater(t, below(orf.IID{}, 0.75), 20.0, "84 % of normal coordinates are below 1")

	wide := must.Have(orf.Draw[float64](orf.Cauchy{}, 9, d, exprand.NewSource(2)))
	narrow := must.Have(orf.Draw[float32](orf.Cauchy{}, 5, d, exprand.NewSource(2)))
	assert.Equal(t, dense.Copy(dense.Matrix[float32]{}, wide.Frequencies().RowRange(0, 5)), narrow.Frequencies())
}
