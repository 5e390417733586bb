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

// moments collects a fixed list of statistics over independent draws.
type moments struct {
	n         float64
	sum, sum2 []float64
}

func (m *moments) add(values ...float64) {
	if m.sum == nil {
		m.sum, m.sum2 = make([]float64, len(values)), make([]float64, len(values))
	}
	m.n++
	for i, v := range values {
		m.sum[i] += v
		m.sum2[i] += v * v
	}
}

// mean returns the mean of statistic i and its standard error.
func (m *moments) mean(i int) (mean, stderr float64) {
	mean = m.sum[i] / m.n
	return mean, math.Sqrt(max(0, m.sum2[i]/m.n-mean*mean) / m.n)
}

// z returns the largest |mean − want|, in standard errors, of the statistics.
// A statistic that does not vary counts by its rounding, at 1e-13.
func (m *moments) z(want ...float64) float64 {
	worst := 0.0
	for i, w := range want {
		mean, stderr := m.mean(i)
		worst = max(worst, math.Abs(mean-w)/max(stderr, 1e-13))
	}
	return worst
}

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
