package mse

import "math"

// OfBoxes is the law of the features of rff.Boxes, whose thresholds are parts of the interval [0,
// 1]. apart returns the disjoint intervals between x and y. The estimate is 7/24 + 11/24·A₁ +
// 5/24·A₂ + 1/24·A₃ with Var A_q = 1/m + (1 − 1/m)·B^q − ρ^(2q), where m = counts[q−1], ρ is the
// mean of the sign −1 on apart(x, y) and 1 elsewhere, S the mean over m equal strata of the squared
// mean in the stratum, and B = (mρ² − S)/(m − 1).
func OfBoxes(counts [3]int, apart func(x, y []float64) [][2]float64) Law {
	e := closed{source: derived, mse: func(x, y []float64, _ int) (sum float64) {
		if !finite(x) || !finite(y) {
			return math.NaN()
		}
		between, share := apart(x, y), 0.0
		for _, b := range between {
			share += b[1] - b[0]
		}
		e := 4 * share * (1 - share) // 1 − ρ²
		for q, c := range [3]float64{11. / 24, 5. / 24, 1. / 24} {
			m := float64(counts[q])
			δ := mixed(between, counts[q])
			g := (m*e - δ) / max(1, m-1) // 1 − B
			sum += c * c * max(0, m*complement(e, q+1)-(m-1)*complement(g, q+1)) / m
		}
		return sum
	}}.estimate("Boxes", 1, 1)
	return Law{over: func(Frequencies) (Errors, bool) { return e, true }}
}

func mixed(between [][2]float64, m int) (sum float64) {
	shares, n := make([]float64, m), float64(m)
	for _, b := range between {
		lo, hi := b[0]*n, b[1]*n
		for s := int(lo); s < m && float64(s) < hi; s++ {
			shares[s] += min(hi, float64(s+1)) - max(lo, float64(s))
		}
	}
	for _, p := range shares {
		sum += max(0, 4*p*(1-p)/n)
	}
	return sum
}

// complement returns 1 − (1 − v)^q, without cancellation for small v.
func complement(v float64, q int) (sum float64) {
	term := v
	for range q {
		sum += term
		term *= 1 - v
	}
	return sum
}
