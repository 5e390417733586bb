package mse

import (
	"math"
	"math/big"
)

// sphereMean returns E[cos(r·u₁)] for u uniform on the unit sphere of R^d and r > 0:
//
//	₀F₁(; d/2; −r²/4) = Γ(d/2)·(2/r)^ν·J_ν(r),  ν = d/2 − 1 [DLMF 10.16.9].
//
// Up to r = 60 + 10√d the result is rounded once. Beyond, the error is 1e-13 of the height of its
// waves. The cost is O(√d + 10) operations on numbers of O(√d + 100) bits.
func sphereMean(d int, r float64) float64 {
	switch {
	case r <= 60+10*math.Sqrt(float64(d)):
		return sphereSeries(d, r)
	case d > 120:
		// Coordinates of u are nearly normal: about exp(−r²/(2d)), less than 1e-18.
		return 0
	}
	// J_ν(r) comes from orders 0 and 1, or −½ and ½, by J_(ν+1) = (2ν/r)·J_ν − J_(ν−1), which is
	// stable for ν < r [DLMF 10.74(iv)].
	order := -float64(d%2) / 2
	below, j := hankel(order, r), hankel(order+1, r)
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

// sphereSeries sums sphereMean as ₀F₁(; d/2; −r²/4). The terms reach e^r while the sum is below 1, so
// the terms have r·log₂e more bits.
func sphereSeries(d int, r float64) float64 {
	prec := uint(80 + r*math.Log2E)
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(v) }
	twice := number(r)
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

// hankel returns J_ν(r) for |ν| ≤ 1 and r > 60 by its asymptotic series [DLMF 10.17.3], which
// is finite for ν = ±½.
func hankel(nu, r float64) float64 {
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
	// ω = r − (ν/2 + ¼)π
	sin, cos := math.Sincos(r)
	s, c := math.Sincos((nu/2 + 0.25) * math.Pi)
	sin, cos = sin*c-cos*s, cos*c+sin*s
	return math.Sqrt(2/(math.Pi*r)) * (cosine*cos - sine*sin)
}
