package mse

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// SimplexExcess returns E[₁F₁(d; d/2; (1 + κ·sin 2α)t)] − e^(2t), times e^(−2t) for t > 0, for d ≥
// 1, κ = −1/(d−1) and α of density ∝ (sin α·cos α)^(d−1) on [0, π/2]: for t > 0 the covariance of
// exp(vᵀz) and exp(wᵀz), t = ‖z‖²/2, over the square of their mean, for two rows v, w of a simplex
// block. In R¹ κ counts as 0.
//
// It is ConfluentExcess plus Σ_k (d)_k/((d/2)_k k!)·E[(1 + κ·sin 2α)^k − 1]·t^k, with powers by a
// recursion without cancellation and expectations by 64 nodes. For t ≥ 0 the relative error is
// about 1e-13, for −1 ≤ t < 0 up to 50 times as large. Above far(d) the value is −1 to the last
// bit. Below t = −1 two values are subtracted, and the absolute error is about 1e-14.
func SimplexExcess(d int, t float64) float64 {
	if t > far(d) {
		return -1
	}
	step := func(a, power, _ float64) (float64, float64) { return power + a*power + a, 0 }
	value := func(near, _ float64) float64 { return Confluent(d, near*t) }
	return oblique(d, t, 2, step, value)
}

// SimplexEvenExcess returns the mean of the excess for κ and −κ, as in SimplexExcess but times
// e^(−4t) for t > 0: the covariance of cosh(vᵀz) and cosh(wᵀz) over their second moment, t =
// ‖z‖²/2, or the covariance of cos(vᵀz) and cos(wᵀz), t = −‖z‖²/2. Odd powers of κ never enter the
// sum. Above far(d) it is 0.
func SimplexEvenExcess(d int, t float64) float64 {
	if t > far(d) {
		return 0
	}
	step := func(a, even, odd float64) (float64, float64) { return even + a*odd, odd + a*even + a }
	value := func(near, away float64) float64 { return (Confluent(d, near*t) + Confluent(d, away*t)) / 2 }
	return oblique(d, t, 4, step, value)
}

// In R¹ no two rows share a block.
func simplexCosine(d int) float64 {
	if d == 1 {
		return 0
	}
	return -1 / float64(d-1)
}

// oblique returns the excess, times e^(−fall·t) for t > 0. With a = κ·sin 2α, step takes power = (1
// + a)^k − 1, or its even part in a beside the odd part, to the next k. value gives ₁F₁ at (1 +
// a)·t, or its even part in a, from near = 1 + a and away = 1 − a.
func oblique(d int, t, fall float64, step func(a, power, odd float64) (float64, float64), value func(near, away float64) float64) float64 {
	checkDimension(d)
	cosine := simplexCosine(d)
	rest := math.Max(t, 0)
	if cosine == 0 {
		return ConfluentExcess(d, t) * math.Exp((2-fall)*rest)
	}
	nodes := sinesOfTwice(d, t)
	if t < -1 || math.IsNaN(t) {
		var mean float64
		for _, n := range nodes {
			// 1 + κ·sin 2α without cancellation
			mean += n.weight * value(1+cosine-cosine*n.gap, 1-cosine*n.sine)
		}
		return mean - math.Exp(2*t)
	}
	half := float64(d) / 2
	scale := decay{rest: fall * rest}
	var powers, odds [obliqueNodes]float64
	var sum, last float64
	coefficient := 1.0 // (d)_k t^k/((d/2)_k k!)
	for k := 0.0; k < 2 || !converged(last, sum, k, 4*math.Abs(t)); k++ {
		coefficient *= (float64(d) + k) / (half + k) * t / (k + 1)
		var mean float64
		for i, n := range nodes {
			powers[i], odds[i] = step(cosine*n.sine, powers[i], odds[i])
			mean += n.weight * powers[i]
		}
		last = coefficient * mean
		sum += last
		if f := scale.due(math.Max(coefficient, math.Abs(last))); f < 1 {
			sum, coefficient = sum*f, coefficient*f
		}
	}
	return ConfluentExcess(d, t)*math.Exp((2-fall)*rest) + sum*math.Exp(-scale.rest)
}

const obliqueNodes = 64

// obliqueNode is a node: sin 2α, 1 − sin 2α and the weight.
type obliqueNode struct{ sine, gap, weight float64 }

// sinesOfTwice returns nodes, with weights that add up to 1, for Gauss–Legendre quadrature over δ =
// 2α − π/2 of functions of t times 1 ± κ·sin 2α. The density ∝ cos^(d−1) δ lies below
// exp(−(d−1)δ²/2): negligible beyond 9 deviations.
func sinesOfTwice(d int, t float64) [obliqueNodes]obliqueNode {
	end := math.Min(math.Pi/2, 9/math.Sqrt(float64(d-1)))
	if d == 2 && t < -1 {
		// Here 1 + κ·sin 2α → 0: ₁F₁ at −u is (1−u)·e^(−u), negligible beyond u = 70.
		end = math.Min(end, math.Sqrt(-140/t))
	}
	var at, weights [obliqueNodes]float64
	quad.Legendre{}.FixedLocations(at[:], weights[:], 0, end)
	var nodes [obliqueNodes]obliqueNode
	var total float64
	for i, delta := range at {
		n := &nodes[i]
		half := math.Sin(delta / 2)
		n.sine, n.gap = math.Cos(delta), 2*half*half
		n.weight = weights[i] * math.Pow(n.sine, float64(d-1))
		total += n.weight
	}
	if d == 2 {
		total = 1 // the whole of the density
	}
	for i := range nodes {
		nodes[i].weight /= total
	}
	return nodes
}
