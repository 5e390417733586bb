package laws

import (
	"fmt"
	"math"
	"math/big"
)

// Confluent returns ₁F₁(d; d/2; t) = Σ_k (d)_k t^k/((d/2)_k k!) for d ≥ 1.
//
// For t ≥ 0 all terms are positive, and the relative error is a few units in the
// last place; the value, between e^t and e^(2t), overflows to +Inf somewhere
// between t = 355 and 710. For t < 0 Kummer's transformation [DLMF 13.2.39] gives e^t·₁F₁(−d/2; d/2; −t), of which the terms,
// e^t included, have absolute values with sum at most 1, because
// |(−d/2)_k| ≤ (d/2)_k: the absolute error is a few 1e-16 whatever t is. The cost
// is O(|t| + 1) operations. NaN and ±Inf give NaN.
func Confluent(d int, t float64) float64 {
	checkDimension(d)
	if math.IsNaN(t - t) {
		return math.NaN()
	}
	half := float64(d) / 2
	if t < 0 {
		return damped(-half, half, -t)
	}
	term, sum := 1.0, 1.0
	for k := 0.0; !converged(term, sum, k, 2*t); k++ {
		term *= (float64(d) + k) / (half + k) * t / (k + 1)
		sum += term
	}
	return sum
}

// ConfluentExcess returns ₁F₁(d; d/2; t) − e^(2t) for d ≥ 1: the covariance of
// cosh(vᵀz) and cosh(wᵀz), t = ‖z‖²/2, or of their cosines, t = −‖z‖²/2, for two
// rows v, w of an orthogonal block. It is of order t² at 0.
//
// For t ≥ −1 it is the sum of the differences of the coefficients of the two
// series, D_k/k! with D_k = (d)_k/(d/2)_k − 2^k, which are all of one sign and
// come from the recursion
//
//	D_{k+1} = ((d+k)·D_k − k·2^k)/(d/2 + k),  D₀ = 0,
//
// without cancellation: the relative error is about 1e-15, at t < 0 up to 50
// times that. Below −1 the two values are subtracted: the absolute error is a few
// 1e-16. Cost and NaN are those of Confluent.
func ConfluentExcess(d int, t float64) float64 {
	checkDimension(d)
	if t < -1 || math.IsNaN(t-t) {
		return Confluent(d, t) - math.Exp(2*t)
	}
	half := float64(d) / 2
	var sum, diff float64 // diff is D_k·t^k/k!
	power := 1.0          // (2t)^k/k!
	for k := 0.0; k < 2 || !converged(diff, sum, k, 2*math.Abs(t)); k++ {
		scale := t / (k + 1) / (half + k)
		diff, power = ((float64(d)+k)*diff-k*power)*scale, power*2*t/(k+1)
		sum += diff
	}
	return sum
}

// ConfluentLimit returns ₀F₁(; d/2; t) = Σ_k t^k/((d/2)_k k!) for d ≥ 1, which for
// t < 0 is a Bessel function of 2√−t [DLMF 10.16.9].
//
// Its terms reach e^(2√|t|) where the value is below 1. They are summed with as
// many more bits: the relative error is 2⁻⁵³, except for t < 0 next to a zero of
// the function, where the absolute error is below 1e-18. The cost is O(√|t| + 10)
// operations on numbers of O(√|t| + 100) bits. NaN and ±Inf give NaN.
func ConfluentLimit(d int, t float64) float64 {
	checkDimension(d)
	if math.IsNaN(t - t) {
		return math.NaN()
	}
	root := math.Sqrt(math.Abs(t))
	prec := uint(80 + 2*root*math.Log2E)
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(v) }
	twice, term, sum := number(2*t), number(1), number(1)
	for k := 0.0; ; k++ {
		// Both factors of the divisor are whole numbers, hence exact.
		term.Mul(term, twice)
		term.Quo(term, number((float64(d)+2*k)*(k+1)))
		sum.Add(sum, term)
		if term.Sign() == 0 || k > 2*root && term.MantExp(nil) < -int(prec) {
			v, _ := sum.Float64()
			return v
		}
	}
}

// damped returns e^(−t)·₁F₁(a; b; t) for t > 0 and |(a)_k| ≤ (b)_k. The factor is
// applied in parts as the terms grow, so that neither overflows nor underflows.
func damped(a, b, t float64) float64 {
	const part = 300
	rest := t
	term, sum := 1.0, 1.0
	for k := 0.0; !converged(term, sum, k, t); k++ {
		term *= (a + k) / (b + k) * t / (k + 1)
		sum += term
		for rest > part && math.Max(math.Abs(term), math.Abs(sum)) > 1e120 {
			rest -= part
			term *= math.Exp(-part)
			sum *= math.Exp(-part)
		}
	}
	return sum * math.Exp(-rest)
}

// converged reports whether a series of which term k is the last one summed, and
// later ones are less than ratio/(k+1) times the one before, has a negligible
// rest.
func converged(term, sum, k, ratio float64) bool {
	if term == 0 || math.IsInf(sum, 0) {
		return true
	}
	return k+1 > 2*ratio && math.Abs(term) <= math.Abs(sum)*0x1p-60
}

func checkDimension(d int) {
	if d < 1 {
		panic(fmt.Sprintf("laws: d = %d, want at least 1", d))
	}
}
