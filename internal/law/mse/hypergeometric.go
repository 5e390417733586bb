package mse

import (
	"fmt"
	"math"
)

// Confluent returns ₁F₁(d; d/2; t) = Σ_k (d)_k t^k/((d/2)_k k!) for d ≥ 1, in O(√d).
//
// For t ≥ 0 all terms are positive, and the relative error is a few units in the last place. For t
// < 0 Kummer's transformation [DLMF 13.2.39] gives e^t·₁F₁(−d/2; d/2; −t), whose terms, times e^t,
// sum to at most 1 in absolute value, so that the absolute error is a few 1e-16. Below −far(d), for
// odd d and −t > d(d/2+1), the asymptotic series [DLMF 13.7.2] has a relative error of 1e-13.
// Otherwise the value is 0 there, with an absolute error below 1e-18. NaN gives NaN.
func Confluent(d int, t float64) float64 {
	checkDimension(d)
	half := float64(d) / 2
	switch {
	case math.IsNaN(t):
		return t
	case t < -far(d):
		return tail(d, -t)
	case t < 0:
		return damped(-half, half, -t)
	}
	term, sum := 1.0, 1.0
	for k := 0.0; !converged(term, sum, k, 2*t); k++ {
		term *= (float64(d) + k) / (half + k) * t / (k + 1)
		sum += term
	}
	return sum
}

// ConfluentExcess returns ₁F₁(d; d/2; t) − e^(2t) for t ≤ 0, times e^(−2t) for t > 0: for two rows
// v, w of an orthogonal block, the covariance of cosh(vᵀz) and cosh(wᵀz) over the square of their
// mean, t = ‖z‖²/2, or the covariance of cos(vᵀz) and cos(wᵀz), t = −‖z‖²/2.
//
// For t ≥ −1 it is the series of D_k·t^k/k! with D_k = (d)_k/(d/2)_k − 2^k, which have one sign and
// come without cancellation from D_{k+1} = ((d+k)·D_k − k·2^k)/(d/2 + k), D₀ = 0. The relative
// error is about 1e-15, and up to 50 times as large at t < 0. Above far(d) the value is −1 to the
// last bit. Below t = −1 two values are subtracted, and the absolute error is a few 1e-16.
func ConfluentExcess(d int, t float64) float64 {
	checkDimension(d)
	switch {
	case t < -1 || math.IsNaN(t):
		return Confluent(d, t) - math.Exp(2*t)
	case t > far(d):
		return -1
	}
	half := float64(d) / 2
	scale := decay{rest: 2 * math.Max(t, 0)}
	var sum, diff float64 // diff is D_k·t^k/k!
	power := 1.0          // (2t)^k/k!
	for k := 0.0; k < 2 || !converged(diff, sum, k, 2*math.Abs(t)); k++ {
		step := t / (k + 1) / (half + k)
		diff, power = ((float64(d)+k)*diff-k*power)*step, power*2*t/(k+1)
		sum += diff
		if f := scale.due(power); f < 1 {
			sum, diff, power = sum*f, diff*f, power*f
		}
	}
	return sum * math.Exp(-scale.rest)
}

// far returns a t from which on ₁F₁(d; d/2; t)·e^(−2t), and for even d or d ≥ 13 |₁F₁(d; d/2; −t)|,
// is below 1e-18: both are roughly exp(−2t²/d).
func far(d int) float64 { return 60 + 6*math.Sqrt(float64(d)) }

// tail returns ₁F₁(d; d/2; −t) = Γ(d/2)/Γ(−d/2)·t^(−d)·Σ_s (d)_s(d/2+1)_s/(s!·t^s) for t > far(d).
// The factor is 0 for even d.
func tail(d int, t float64) float64 {
	n, half := float64(d), float64(d)/2
	if d%2 == 0 || n*(half+1) >= t {
		return 0
	}
	// 1/Γ(−d/2) = −Γ(d/2+1)·sin(πd/2)/π.
	a, _ := math.Lgamma(half)
	b, _ := math.Lgamma(half + 1)
	term := math.Exp(a+b-n*math.Log(t)) / math.Pi
	if d%4 == 1 {
		term = -term
	}
	sum := term
	for s := 0.0; ; s++ {
		ratio := (n + s) * (half + 1 + s) / ((s + 1) * t)
		if ratio >= 1 || math.Abs(term) <= math.Abs(sum)*0x1p-60 {
			return sum
		}
		term *= ratio
		sum += term
	}
}

// damped returns e^(−t)·₁F₁(a; b; t) for t > 0 and |(a)_k| ≤ (b)_k.
func damped(a, b, t float64) float64 {
	scale := decay{rest: t}
	term, sum := 1.0, 1.0
	for k := 0.0; !converged(term, sum, k, t); k++ {
		term *= (a + k) / (b + k) * t / (k + 1)
		sum += term
		if f := scale.due(term); f < 1 {
			sum, term = sum*f, term*f
		}
	}
	return sum * math.Exp(-scale.rest)
}

// decay is a factor e^(−rest) of a series. It is applied in parts as the terms grow, so that
// neither the factor nor the terms leave the range of float64.
type decay struct{ rest float64 }

func (d *decay) due(size float64) float64 {
	const part = 300
	if d.rest < part || math.Abs(size) < 1e120 {
		return 1
	}
	d.rest -= part
	return math.Exp(-part)
}

// converged reports whether the rest of a series is negligible after term k, where each later term
// is less than ratio/(k+1) times the term before.
func converged(term, sum, k, ratio float64) bool {
	if term == 0 || math.IsInf(sum, 0) {
		return true
	}
	return k+1 > 2*ratio && math.Abs(term) <= math.Abs(sum)*0x1p-60
}

func checkDimension(d int) {
	if d < 1 {
		panic(fmt.Sprintf("mse: d = %d, want at least 1", d))
	}
}
