package laws

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// ObliqueExcess returns E[₁F₁(d; d/2; (1 + c·sin 2α)t)] − e^(2t) for d ≥ 1, where α
// has a density ∝ (sin α·cos α)^(d−1) on [0, π/2]: the covariance of exp(vᵀz) and
// exp(wᵀz), t = ‖z‖²/2, for rows v and w of uniform directions at an angle of cosine
// c, with independent lengths from χ(d). For c = 0 it is ConfluentExcess.
//
// Lengths are r·cos α and r·sin α, with r² from χ²(2d) and α independent of it. So
// v+w has a uniform direction and the squared length r²(1 + c·sin 2α), and the
// expectation over r is that of GaussianORF for t times 1 + c·sin 2α.
//
// It is computed as ConfluentExcess and the expectation of the difference of two
// series,
//
//	Σ_k (d)_k/((d/2)_k k!)·E[(1 + c·sin 2α)^k − 1]·t^k,
//
// of which the powers less 1 come from a recursion without cancellation and the
// expectations from 64 nodes of a quadrature. For c ≤ 0 ≤ t all terms have one
// sign and the relative error is about 1e-13. Where the two parts have unlike signs,
// for c > 0, the error is that times the larger of them; for −1 ≤ t < 0 it is up to
// 50 times as large. Below t = −1 two values are subtracted: the absolute error is
// about 1e-14. Cost: 64 times that of Confluent. NaN and ±Inf give NaN. It panics
// unless −1 ≤ c ≤ 1.
func ObliqueExcess(d int, c, t float64) float64 {
	step := func(a, power, _ float64) (float64, float64) { return power + a*power + a, 0 }
	value := func(a float64) float64 { return Confluent(d, (1+a)*t) }
	return oblique(d, c, t, step, value)
}

// ObliqueEvenExcess returns the mean of ObliqueExcess for c and −c: the covariance
// of cosh(vᵀz) and cosh(wᵀz), t = ‖z‖²/2, or of their cosines, t = −‖z‖²/2, since w
// and −w are at angles of opposite cosines from v. Powers that are odd in c never
// enter the sum, hence need not cancel. Accuracy, cost and panics are those of
// ObliqueExcess for c > 0.
func ObliqueEvenExcess(d int, c, t float64) float64 {
	step := func(a, even, odd float64) (float64, float64) { return even + a*odd, odd + a*even + a }
	value := func(a float64) float64 { return (Confluent(d, (1+a)*t) + Confluent(d, (1-a)*t)) / 2 }
	return oblique(d, c, t, step, value)
}

// oblique returns the excess. step takes (1 + a)^k − 1, a = c·sin 2α, or its part
// even in a with the odd one beside it, to the next k; value gives ₁F₁ at (1 + a)t,
// or its part even in a.
func oblique(d int, c, t float64, step func(a, power, odd float64) (float64, float64), value func(a float64) float64) float64 {
	checkDimension(d)
	switch {
	case !(math.Abs(c) <= 1):
		panic(fmt.Sprintf("laws: c = %v, want −1 ≤ c ≤ 1", c))
	case math.IsNaN(t - t):
		return math.NaN()
	case c == 0:
		return ConfluentExcess(d, t)
	}
	sines, weights := sinesOfTwice(d)
	if t < -1 {
		var mean float64
		for i, s := range sines {
			mean += weights[i] * value(c*s)
		}
		return mean - math.Exp(2*t)
	}
	half := float64(d) / 2
	var powers, odds [obliqueNodes]float64
	var sum, last float64
	coefficient := 1.0 // (d)_k t^k/((d/2)_k k!)
	for k := 0.0; k < 2 || !converged(last, sum, k, 4*math.Abs(t)); k++ {
		coefficient *= (float64(d) + k) / (half + k) * t / (k + 1)
		var mean float64
		for i, s := range sines {
			powers[i], odds[i] = step(c*s, powers[i], odds[i])
			mean += weights[i] * powers[i]
		}
		last = coefficient * mean
		sum += last
	}
	return ConfluentExcess(d, t) + sum
}

// obliqueNodes is the number of nodes of the quadrature.
const obliqueNodes = 64

// sinesOfTwice returns values of sin 2α and their weights, which add up to 1, for
// Gauss–Legendre quadrature over δ = 2α − π/2. The density ∝ cos^(d−1) δ, even in
// δ, lies below exp(−(d−1)δ²/2): beyond 9 of its standard deviations nothing is
// left.
func sinesOfTwice(d int) (sines, weights [obliqueNodes]float64) {
	end := math.Min(math.Pi/2, 9/math.Sqrt(float64(d-1)))
	quad.Legendre{}.FixedLocations(sines[:], weights[:], 0, end)
	var total float64
	for i, delta := range sines {
		sines[i] = math.Cos(delta)
		weights[i] *= math.Pow(sines[i], float64(d-1))
		total += weights[i]
	}
	for i := range weights {
		weights[i] /= total
	}
	return sines, weights
}
