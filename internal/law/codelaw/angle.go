package codelaw

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
)

// BothSeparate returns the probability that two orthogonal, uniformly random directions in R^d both
// separate two points at the angle θ, to 1e-12: that the inner products with the points differ in
// sign. The probability is max(0, 2θ/π − 1) for d = 2, and for d ≥ 3
//
//	2(d−2)/(π²(d−1))·∫₀^θ (θ−δ)·₂F₁(1, 1; (d+1)/2; sin²δ) dδ.
func BothSeparate(d int, theta float64) float64 {
	switch {
	case d == 1:
		return 0 // R¹ has no two orthogonal directions
	case d == 2:
		return math.Max(0, 2*theta/math.Pi-1)
	case theta > math.Pi/2:
		// A direction separates x and −y if it does not separate x and y. This identity keeps the
		// integral away from the singularity at δ = π/2.
		return 2*theta/math.Pi - 1 + BothSeparate(d, math.Pi-theta)
	}
	// The substitution δ = θ(1−t²) turns the logarithm at δ = π/2 into t³·log t. No point of the
	// quadrature has a sin²δ within 1e-12 of 1, where Hypergeo is inaccurate.
	integral := quad.Fixed(func(t float64) float64 {
		sin := math.Sin(theta * (1 - t*t))
		return 2 * theta * theta * t * t * t * mathext.Hypergeo(1, 1, float64(d+1)/2, sin*sin)
	}, 0, 1, 40, quad.Legendre{}, 0)
	return 2 * float64(d-2) / (math.Pi * math.Pi * float64(d-1)) * integral
}
