package mse

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// fixedRows are m rows of length √d with uniform directions, in blocks as the package comment says:
// single rows, orthogonal rows or simplex rows.
//
// The mean of m terms cos(wᵀz), with r = √d·‖z‖ and
//
//	F(s) = ₀F₁(; d/2; −s²/4) = E[cos(s·u₁)],  u uniform on the unit sphere,
//
// has the mean F(r) [Demni & Kadri 2024]. A term has the second moment ½(1 + F(2r)), and two rows
// v, w of a block have E[cos(vᵀz)·cos(wᵀz)] = ½(F(√(2+2κ)·r) + F(√(2−2κ)·r)), where κ is the cosine
// of their angle: v ± w have uniform directions and the lengths √(2±2κ)·√d. For cosh(wᵀz) the same
// holds with G(s) = ₀F₁(; d/2; s²/4) in place of F. For exp(wᵀz) the mean is G(r) too, the second
// moment is G(2r), and the product of two terms of a block has the mean G(√(2+2κ)·r).
//
// By ₀F₁(; a; s)² = ₁F₂(a − ½; a, 2a−1; 4s), for a = d/2 [DLMF 16.12.2], all of these are series in
// t^k/((a)_k k!), with t = −r² for waves and t = r² otherwise. The squared mean has the
// coefficients ρ_k = (a−½)_k/(2a−1)_k, with ρ_k = ½ for d = 1. The variance of the mean of m terms,
// times m, has
//
//	½ − ρ_k + n·((1+κ)^k/2 + (1−κ)^k/2 − 2^k·ρ_k)/2^k,  or  1 − ρ_k + n·((1+κ)^k − 2^k·ρ_k)/2^k
//
// for exp(wᵀz), where n ≤ d−1 is the mean number of other rows in the block of a row. In full
// blocks of orthogonal rows Σ (wᵀz)² does not vary, so terms cancel up to k = 3: all sums are
// arranged such that they have terms of one sign.
type fixedRows struct {
	m, d    int
	others  float64 // n
	missing float64 // d−1−n, exactly 0 in full blocks
	simplex bool
}

// newFixedRows returns m rows in blocks of the given size.
func newFixedRows(m, d, block int, simplex bool) fixedRows {
	n, p := float64(m), pairs(m, block)
	return fixedRows{m: m, d: d, others: p / n, missing: (n*float64(d-1) - p) / n, simplex: simplex && d > 1}
}

// series returns the sum of the coefficients of the comment of fixedRows times t^k/((d/2)_k k!),
// for cos and cosh if even and else for exp. For t > 0 it is times e^(−2√t). The terms of t < 0
// alternate and do not cancel if −t ≤ 1.5·(d/2 + 2).
func (f fixedRows) series(t float64, even bool) float64 {
	a, last := float64(f.d)/2, float64(f.d-1)
	cosine := 0.0
	if f.simplex {
		cosine = simplexCosine(f.d)
	}
	// At k = 1: ρ_k; ½ − ρ_k + (d−1)·(2^(−k) − ρ_k); ρ_k − 2^(−k); the even and the odd part of
	// (1+κ)^k, less 1 and 0; (1 − (1+κ)^k)/−κ; 2^(−k).
	rho, whole, deficit, evenPart, oddPart, fall, half := 0.5, 0.0, 0.0, 0.0, cosine, 1.0, 0.5
	power := t / a
	scale := decay{rest: 2 * math.Sqrt(math.Max(t, 0))}
	var sum, term float64
	// The first three coefficients may be 0.
	for k := 1.0; k < 5 || !converged(term, sum, k, 2*math.Abs(t)/(a+k)); k++ {
		coefficient := whole + f.missing*deficit
		switch {
		case even && f.simplex:
			coefficient += f.others * half * evenPart
		case !even && f.simplex:
			coefficient += (0.5 - half*fall) + f.missing/last*half*fall
		case !even:
			coefficient += 0.5
		}
		term = coefficient * power
		sum += term
		if s := scale.due(math.Max(math.Abs(power), math.Abs(sum))); s < 1 {
			sum, power = sum*s, power*s
		}
		power *= t / ((a + k) * (k + 1))
		step := 2 * (last + k)
		ratio := (last + 2*k) / step
		whole = ratio*whole + last/(2*step)*(1-2*k*half)
		deficit = deficit/2 + rho*k/step
		rho *= ratio
		evenPart, oddPart = evenPart+cosine*oddPart, oddPart+cosine*(1+evenPart)
		fall = (1+cosine)*fall + 1
		half /= 2
	}
	return sum * math.Exp(-scale.rest)
}

// waves returns the variance of the mean of cos(wᵀz), for r = √d·‖z‖.
func (f fixedRows) waves(r float64) float64 {
	if square := r * r; square <= 1.5*(float64(f.d)/2+2) {
		return math.Max(f.series(-square, true), 0) / float64(f.m)
	}
	mean := wave(f.d, r)
	near, apart := f.pairLengths()
	v := (1+wave(f.d, 2*r))/2 - mean*mean
	c := (wave(f.d, near*r)+wave(f.d, apart*r))/2 - mean*mean
	return math.Max(v+f.others*c, 0) / float64(f.m)
}

// growth returns the variance of the mean of exp(wᵀz), or cosh(wᵀz) if even, times e^(−2r), for r =
// √d·‖z‖.
func (f fixedRows) growth(r float64, even bool) float64 {
	if 2*r <= asymptotic(f.d) {
		return f.series(r*r, even) / float64(f.m)
	}
	at := func(s float64) float64 { return surge(f.d, s*r) * math.Exp((s-2)*r) }
	mean := surge(f.d, r)
	near, apart := f.pairLengths()
	v, c := at(2), at(near)
	if even {
		v, c = (v+math.Exp(-2*r))/2, (c+at(apart))/2
	}
	return math.Max(v-mean*mean+f.others*(c-mean*mean), 0) / float64(f.m)
}

// pairLengths returns the lengths of v+w and of v−w over √d, for two rows v, w of a block.
func (f fixedRows) pairLengths() (plus, minus float64) {
	cosine := 0.0
	if f.simplex {
		cosine = simplexCosine(f.d)
	}
	return math.Sqrt(2 * (1 + cosine)), math.Sqrt(2 * (1 - cosine))
}

// wave returns E[cos(r·u₁)], the limit 0 for r = ∞.
func wave(d int, r float64) float64 {
	switch {
	case r == 0:
		return 1
	case math.IsInf(r, 1):
		return 0
	}
	return sphereMean(d, r)
}

// asymptotic returns an r from which on surge is the asymptotic series.
func asymptotic(d int) float64 {
	nu := float64(d)/2 - 1
	return 60 + nu*nu
}

// surge returns ₀F₁(; d/2; r²/4)·e^(−r) = E[exp(r·u₁)]·e^(−r) for r ≥ 0:
// Γ(ν+1)·(2/r)^ν·I_ν(r)·e^(−r) for ν = d/2 − 1 [DLMF 10.25.2]. It is the series of positive terms,
// with O(r) operations, or from asymptotic(d) on the series of [DLMF 10.40.1]. It falls to 0 at ∞
// for d > 1.
func surge(d int, r float64) float64 {
	a := float64(d) / 2
	if r <= asymptotic(d) {
		scale := decay{rest: r}
		t := r * r / 4
		term, sum := 1.0, 1.0
		for k := 0.0; !converged(term, sum, k, t/(a+k)); k++ {
			term *= t / ((a + k) * (k + 1))
			sum += term
			if s := scale.due(sum); s < 1 {
				sum, term = sum*s, term*s
			}
		}
		return sum * math.Exp(-scale.rest)
	}
	if d == 1 {
		return 0.5 // cosh r, where e^(−r) is negligible
	}
	nu := a - 1
	term, sum := 1.0, 1.0
	for k := 1.0; math.Abs(term) > 0x1p-60; k++ {
		odd := 2*k - 1
		term *= -(4*nu*nu - odd*odd) / (8 * r * k)
		sum += term
	}
	log, _ := math.Lgamma(a)
	return sum * math.Exp(log+nu*math.Log(2/r)) / math.Sqrt(2*math.Pi*r)
}

// shortfall returns (₀F₁(; d/2; d·u/2) − e^u)·e^(−max(u, 0)), what fixed lengths take off the mean,
// for u ≥ −1. The coefficients b_k/k! of the difference, b_k = (d/2)^k/(d/2)_k − 1, are negative
// and come from b_(k+1) = (b_k·d/2 − k)/(d/2 + k).
func shortfall(d int, u float64) float64 {
	a := float64(d) / 2
	// The first value is at most e^(√(2du)).
	if u-math.Sqrt(4*a*math.Max(u, 0)) > 45 {
		return -1
	}
	scale := decay{rest: math.Max(u, 0)}
	var b, sum, term float64
	power := 1.0
	for k := 0.0; k < 3 || !converged(term, sum, k, 2*math.Abs(u)); k++ {
		term = b * power
		sum += term
		b = (b*a - k) / (a + k)
		power *= u / (k + 1)
		if s := scale.due(power); s < 1 {
			sum, power = sum*s, power*s
		}
	}
	return sum * math.Exp(-scale.rest)
}

// fixedLaws returns the laws of features over rows of fixed length, of the given constructor.
func fixedLaws(of func(rows func(m, d int) fixedRows) ExponentialLaw) (iid, haar, simplex ExponentialLaw) {
	rows := func(block func(d int) int, simplex bool) ExponentialLaw {
		return of(func(m, d int) fixedRows { return newFixedRows(m, d, block(d), simplex) })
	}
	alone, whole := func(int) int { return 1 }, func(d int) int { return d }
	return rows(alone, false), rows(whole, false), rows(whole, true)
}

// fixedWaves is the law of Trig over rows of fixed length, and of Phase with extra = ½: the phases
// add extra to the variance of a term.
func fixedWaves(extra float64) (iid, haar, simplex ExponentialLaw) {
	radius := func(z pair) float64 { return math.Sqrt(float64(z.d)) * floats.Distance(z.x, z.y, 2) }
	return fixedLaws(func(rows func(m, d int) fixedRows) ExponentialLaw {
		return ExponentialLaw{
			ratio: func(z pair) product { return product{v: wave(z.d, radius(z)), norms: 0.5, dot: -1} },
			relative: func(z pair, m int) product {
				if math.IsNaN(z.p) {
					return product{v: z.p}
				}
				r := radius(z)
				var bias float64
				if z.q <= 2 {
					bias = shortfall(z.d, -z.q/2)
				} else {
					bias = wave(z.d, r) - math.Exp(-z.q/2)
				}
				v := rows(m, z.d).waves(r) + extra/float64(m) + bias*bias
				return product{v: v, norms: 1, dot: -2}
			},
		}
	})
}

// fixedExponentials is the law of Optimal over rows of fixed length, and of Hyperbolic if even,
// with a = 0. The features are (1−4a)^(d/4)·e^(ad) times exp(√(1−4a)·wᵀx − ‖x‖²/2), and the
// constant does not undo the slope as it does for lengths from χ(d).
func fixedExponentials(a float64, even bool) (iid, haar, simplex ExponentialLaw) {
	slope := math.Sqrt(1 - 4*a)
	at := func(z pair) (r, log float64) {
		d := float64(z.d)
		r = slope * math.Sqrt(d) * floats.Norm(floats.AddTo(make([]float64, z.d), z.x, z.y), 2)
		return r, d / 2 * (math.Log1p(-4*a) + 4*a)
	}
	return fixedLaws(func(rows func(m, d int) fixedRows) ExponentialLaw {
		return ExponentialLaw{
			ratio: func(z pair) product {
				r, log := at(z)
				if math.IsInf(r, 1) {
					return product{}
				}
				return product{v: surge(z.d, r), norms: -0.5, dot: -1, c: r + log}
			},
			relative: func(z pair, m int) product {
				r, log := at(z)
				switch {
				case math.IsNaN(z.p):
					return product{v: z.p}
				case math.IsInf(z.p, 1):
					return product{v: 1} // the estimate is nothing beside the kernel
				}
				v := rows(m, z.d).growth(r, even)
				// The second moment is e^exponent times what growth returns, relative to S².
				const large = 600
				exponent := 2*(r+log) - z.p
				if exponent > large {
					mean := surge(z.d, r) - math.Exp(-exponent/2)
					return product{v: v + mean*mean, norms: -1, dot: -2, c: 2 * (r + log)}
				}
				var bias float64
				if c := log - 2*a*z.p; math.Abs(c) <= 1 {
					bias = math.Exp(c)*shortfall(z.d, (1-4*a)*z.p/2) + math.Expm1(c)
				} else {
					bias = surge(z.d, r)*math.Exp(exponent/2) - 1
				}
				return product{v: v*math.Exp(exponent) + bias*bias}
			},
		}
	})
}
