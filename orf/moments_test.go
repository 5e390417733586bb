package orf_test

import "math"

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
