package mse

import (
	"math"
	"math/big"
)

// ConfluentLimit returns ₀F₁(; d/2; t) = Σ_k t^k/((d/2)_k k!) for d ≥ 1, which for t < 0 is a
// Bessel function of 2√−t [DLMF 10.16.9].
//
// For t ≥ 0 all terms are positive, and the relative error is a few units in the last place. For t
// < 0 the value is sphereMean(d, 2√−t). Up to 2√−t = 60 + 10√d it is rounded once. Beyond, the
// error is 1e-13 of the height of its waves, as long as 106 bits of 2√−t give the phase, up to −t =
// 1e34. The cost is O(√d + 10) operations on numbers of O(√d + 100) bits. NaN and ±Inf give NaN.
func ConfluentLimit(d int, t float64) float64 {
	checkDimension(d)
	switch {
	case math.IsNaN(t - t):
		return math.NaN()
	case t < 0:
		// 2√−t is in two parts, because its rounding changes the phase.
		root := math.Sqrt(-t)
		return sphereMean(d, 2*root, math.FMA(-root, root, -t)/root)
	}
	half := float64(d) / 2
	term, sum := 1.0, 1.0
	for k := 0.0; term > sum*0x1p-60 && !math.IsInf(sum, 1); k++ {
		term *= t / (half + k) / (k + 1)
		sum += term
	}
	return sum
}

// sphereMean returns E[cos((r + low)·u₁)] for u uniform on the unit sphere of R^d, where low is
// smaller than the last digit of r > 0:
//
//	Γ(d/2)·(2/r)^ν·J_ν(r),  ν = d/2 − 1.
func sphereMean(d int, r, low float64) float64 {
	switch {
	case r <= 60+10*math.Sqrt(float64(d)):
		return sphereSeries(d, r, low)
	case d > 120:
		// Coordinates of u are nearly normal: about exp(−r²/(2d)), less than 1e-18.
		return 0
	}
	// J_ν(r) comes from orders 0 and 1, or −½ and ½, by J_(ν+1) = (2ν/r)·J_ν − J_(ν−1), which is
	// stable for ν < r [DLMF 10.74(iv)].
	order := -float64(d%2) / 2
	below, j := hankel(order, r, low), hankel(order+1, r, low)
	nu := float64(d)/2 - 1
	if nu == order {
		j = below
	}
	for at := order + 1; at < nu; at++ {
		below, j = j, 2*at/r*j-below
	}
	log, _ := math.Lgamma(nu + 1)
	return math.Exp(log+nu*math.Log(2/r)) * j
}

// sphereSeries sums sphereMean as ₀F₁(; d/2; −(r + low)²/4). The terms reach e^r while the sum is
// below 1, so the terms have r·log₂e more bits.
func sphereSeries(d int, r, low float64) float64 {
	prec := uint(80 + r*math.Log2E)
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(v) }
	twice := number(r)
	twice.Add(twice, number(low))
	twice.Mul(twice, twice)
	twice.Quo(twice, number(-2))
	term, sum := number(1), number(1)
	for k := 0.0; ; k++ {
		// Both factors of the divisor are whole numbers, hence exact.
		term.Mul(term, twice)
		term.Quo(term, number((float64(d)+2*k)*(k+1)))
		sum.Add(sum, term)
		if term.Sign() == 0 || k > r && term.MantExp(nil) < -int(prec) {
			v, _ := sum.Float64()
			return v
		}
	}
}

// hankel returns J_ν(r + low) for |ν| ≤ 1 and r > 60 by its asymptotic series [DLMF 10.17.3], which
// is finite for ν = ±½.
func hankel(nu, r, low float64) float64 {
	var cosine, sine float64 // the factors of cos ω and −sin ω
	term := 1.0
	for k := 0.0; math.Abs(term) > 0x1p-60; k++ {
		switch int(k) % 4 {
		case 0:
			cosine += term
		case 1:
			sine += term
		case 2:
			cosine -= term
		case 3:
			sine -= term
		}
		odd := 2*k + 1
		term *= (4*nu*nu - odd*odd) / (8 * r * (k + 1))
	}
	// ω = r + low − (ν/2 + ¼)π
	sin, cos := math.Sincos(r)
	s, c := math.Sincos(low)
	sin, cos = sin*c+cos*s, cos*c-sin*s
	s, c = math.Sincos((nu/2 + 0.25) * math.Pi)
	sin, cos = sin*c-cos*s, cos*c+sin*s
	return math.Sqrt(2/(math.Pi*r)) * (cosine*cos - sine*sin)
}
