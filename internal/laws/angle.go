package laws

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
)

// AngularIID is the law of the features sign(wᵀx)/√m of the angular kernel
// 1 − 2θ/π,
//
//	MSE = 4u(1−u)/m:
//
// the number of rows whose signs differ is binomial. The lengths of rows do not
// matter, here and in AngularORF. The zero vector has no direction and gives NaN.
func AngularIID(x, y []float64, m int) float64 {
	newPair(x, y, m)
	u := angle(x, y) / math.Pi
	return 4 * u * (1 - u) / float64(m)
}

// AngularORF is the law of the same features with orthogonal rows: that of
// AngularIID with the covariance 4(P₁₂ − u²) of two rows of a block, where P₁₂ is
// the probability that both separate x from y. For d ≥ 3 it is
//
//	P₁₂ = 2(d−2)/(π²(d−1))·∫₀^θ (θ−δ)·₂F₁(1, 1; (d+1)/2; sin²δ) dδ,
//
// with an error below 1e-10, and for d = 2 it is max(0, 2u − 1).
func AngularORF(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	theta := angle(x, y)
	u := theta / math.Pi
	return blocks(m, z.d, 4*u*(1-u), 4*(bothSeparate(z.d, theta)-u*u))
}

// ArcCosineIID is the law of the features √(2/m)·max(wᵀx, 0) of the arc-cosine
// kernel k of order 1,
//
//	MSE = (2‖x‖²‖y‖²·J₂/π − k²)/m,  J₂ = 3·sin θ·cos θ + (π−θ)(1 + 2cos²θ),
//	                                k  = ‖x‖‖y‖(sin θ + (π−θ)cos θ)/π
//
// [Cho & Saul 2009]: the second moment of a term is twice the kernel of order 2.
// The zero vector gives NaN.
func ArcCosineIID(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	psi := math.Pi - angle(x, y)
	sin, cos := math.Sincos(psi)
	second := 2 * (psi*(1+2*cos*cos) - 3*sin*cos) / math.Pi
	kernel := (sin - psi*cos) / math.Pi
	return z.xx * z.yy * (second - kernel*kernel) / float64(m)
}

// bothSeparate returns P₁₂ for the angle θ in R^d.
func bothSeparate(d int, theta float64) float64 {
	switch {
	case math.IsNaN(theta):
		return theta
	case d == 1:
		return 0 // no two rows share a block
	case d == 2:
		return math.Max(0, 2*theta/math.Pi-1)
	case theta > math.Pi/2:
		// Against −y a row separates where it does not against y. This keeps
		// the integral away from the singularity at δ = π/2.
		return 2*theta/math.Pi - 1 + bothSeparate(d, math.Pi-theta)
	}
	// The substitution δ = θ(1−t²) makes the logarithm at δ = π/2, which the
	// integrand has at d = 3 and θ = π/2, one of t³·log t. With 40 points none
	// has a sin²δ within 1e-12 of 1, where Hypergeo has no digits left.
	integral := quad.Fixed(func(t float64) float64 {
		sin := math.Sin(theta * (1 - t*t))
		return 2 * theta * theta * t * t * t * mathext.Hypergeo(1, 1, float64(d+1)/2, sin*sin)
	}, 0, 1, 40, quad.Legendre{}, 0)
	return 2 * float64(d-2) / (math.Pi * math.Pi * float64(d-1)) * integral
}
