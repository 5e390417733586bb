package mse

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/codelaw"
)

// AngularIID is the law of the features sign(wᵀx)/√m of the angular kernel 1 − 2θ/π,
//
//	MSE = 4u(1−u)/m:
//
// the number of rows whose signs differ is binomial. The lengths of rows do not matter here, nor in
// AngularORF. The zero vector has no error, because sign(0) = 0.
func AngularIID(x, y []float64, m int) float64 {
	return angular(x, y, m, func(_ int, u float64) float64 { return 4 * u * (1 - u) / float64(m) })
}

// AngularORF is the law of the same features with orthogonal rows. It is the law of AngularIID with
// the covariance 4(P₁₂ − u²) of two rows of a block, where P₁₂ is the probability that both rows
// separate x from y. For d ≥ 3 this probability is
//
//	P₁₂ = 2(d−2)/(π²(d−1))·∫₀^θ (θ−δ)·₂F₁(1, 1; (d+1)/2; sin²δ) dδ,
//
// with an error below 1e-12, and for d = 2 it is max(0, 2u − 1).
func AngularORF(x, y []float64, m int) float64 {
	return angular(x, y, m, func(d int, u float64) float64 {
		return blocks(m, d, 4*u*(1-u), 4*(codelaw.BothSeparate(d, u*math.Pi)-u*u))
	})
}

// angular returns law(d, u) for a law that depends on the angle alone.
func angular(x, y []float64, m int, law func(d int, u float64) float64) float64 {
	z := newPair(x, y, m)
	switch {
	case math.IsNaN(z.p):
		return z.p
	case isZero(x) || isZero(y):
		return 0
	}
	return law(z.d, angle(x, y)/math.Pi)
}

// StepIID is the law of the features √(2/m)·Θ(wᵀx) of the arc-cosine kernel k = 1 − u of order 0,
//
//	MSE = k(2 − k)/m = (1 − u)(1 + u)/m:
//
// a term is 2 with probability k/2 and otherwise 0. With Θ(0) = ½ it is 1/(4m) if one of the points
// is 0, and 0 if both are.
func StepIID(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	switch {
	case math.IsNaN(z.p):
		return z.p
	case isZero(x) && isZero(y):
		return 0
	case isZero(x) || isZero(y):
		return 1 / (4 * float64(m))
	}
	k := supplement(x, y) / math.Pi
	return k * (2 - k) / float64(m)
}

// ArcCosineIID is the law of the features √(2/m)·max(wᵀx, 0) of the arc-cosine kernel k of order 1,
//
//	MSE = (2‖x‖²‖y‖²·J₂/π − k²)/m,  J₂ = 3·sin θ·cos θ + (π−θ)(1 + 2cos²θ),
//	                                k  = ‖x‖‖y‖(sin θ + (π−θ)cos θ)/π
//
// [Cho & Saul 2009]: the second moment of a term is twice the kernel of order 2.
func ArcCosineIID(x, y []float64, m int) float64 {
	return homogeneous(x, y, m, 2, func(z pair) float64 {
		first, second := arcCosine(supplement(x, y))
		return z.xx * z.yy * (2*second/math.Pi - first*first/(math.Pi*math.Pi)) / float64(m)
	})
}

// arcCosine returns J₁ = sin ψ − ψ·cos ψ and J₂ = ψ(1 + 2cos²ψ) − 3·sin ψ·cos ψ for ψ = π − θ.
func arcCosine(psi float64) (first, second float64) {
	if psi >= 0.5 {
		sin, cos := math.Sincos(psi)
		return sin - psi*cos, psi*(1+2*cos*cos) - 3*sin*cos
	}
	// With the terms t_i and u_i of sin ψ and sin 2ψ they are −Σ 2i·t_i and Σ (i−1)·u_i without the
	// terms that cancel, i < 1 and i < 2.
	t, u := psi, 2*psi
	for i := 1.0; i < 12; i++ {
		step := -psi * psi / (2 * i * (2*i + 1))
		t, u = t*step, u*4*step
		first -= 2 * i * t
		second += (i - 1) * u
	}
	return first, second
}
