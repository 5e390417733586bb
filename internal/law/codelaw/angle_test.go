package codelaw

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
)

// At d = 3 the integrand is elementary: ₂F₁(1, 1; 2; z) = −log(1−z)/z.
func TestBothSeparateInThreeDimensions(t *testing.T) {
	for _, theta := range []float64{1e-3, 0.4, 1, 1.4, math.Pi / 2} {
		// δ = θ(1−e^(−v)) moves the singularity at π/2 to infinity.
		want := quad.Fixed(func(v float64) float64 {
			rest := theta * math.Exp(-v)
			sin := math.Sin(theta - rest)
			return rest * rest * -math.Log1p(-sin*sin) / (sin * sin)
		}, 0, 16, 400, quad.Legendre{}, 0) / (math.Pi * math.Pi)
		assert.InDelta(t, want, BothSeparate(3, theta), 1e-12, "θ=%v", theta)
	}
}

// Panels that halve towards the singularity at δ = π/2, which only d = 3 and d = 4 feel, give the
// same within the error that is stated.
func TestBothSeparateByPanels(t *testing.T) {
	for _, d := range []int{3, 4, 5, 16, 256} {
		for _, theta := range []float64{0.1, 1, 1.5, 1.57, math.Pi/2 - 1e-5} {
			integrand := func(v float64) float64 {
				sin := math.Sin(theta * (1 - v*v))
				return 2 * theta * theta * v * v * v * mathext.Hypergeo(1, 1, float64(d+1)/2, sin*sin)
			}
			var sum float64 // but for v < 2⁻¹⁴, where the integral is below 1e-15
			for hi := 1.0; hi > 0x1p-14; hi /= 2 {
				sum += quad.Fixed(integrand, hi/2, hi, 40, quad.Legendre{}, 0)
			}
			assert.InDelta(t, 2*float64(d-2)/(math.Pi*math.Pi*float64(d-1))*sum, BothSeparate(d, theta), 1e-12, "d=%d θ=%v", d, theta)
		}
	}
}

// P₁₂ rises from 0 to 1 between the bounds that P(A) = P(B) = u sets to P(A ∩ B).
func TestBothSeparateIsAProbability(t *testing.T) {
	for _, d := range []int{2, 3, 4, 5, 8, 16, 64, 1000} {
		assert.InDelta(t, 1, BothSeparate(d, math.Pi), 1e-12, "d=%d", d)
		assert.Zero(t, BothSeparate(d, 0), "d=%d", d)
		last := 0.0
		for theta := 0.05; theta < math.Pi; theta += 0.05 {
			p, u := BothSeparate(d, theta), theta/math.Pi
			assert.GreaterOrEqual(t, p, last, "d=%d θ=%v", d, theta)
			assert.LessOrEqual(t, p, u, "d=%d θ=%v", d, theta)
			assert.GreaterOrEqual(t, p, 2*u-1-1e-12, "d=%d θ=%v", d, theta)
			last = p
		}
	}
}

// At θ = π every row separates. There (π−δ) and δ, its mirror image about π/2,
// add up to π, so that the formula, without the reflection that the code makes,
// demands ∫₀^{π/2} ₂F₁ dδ = π(d−1)/(2(d−2)).
func TestBothSeparateAtOppositePoints(t *testing.T) {
	for _, d := range []int{4, 5, 6, 8, 16, 64} {
		got := quad.Fixed(func(v float64) float64 {
			sin := math.Sin(math.Pi / 2 * (1 - v*v))
			return math.Pi * v * mathext.Hypergeo(1, 1, float64(d+1)/2, sin*sin)
		}, 0, 1, 40, quad.Legendre{}, 0)
		assert.InEpsilon(t, math.Pi*float64(d-1)/float64(2*(d-2)), got, 1e-9, "d=%d", d)
	}
}

// Orthogonal rows become independent as d grows.
func TestBothSeparateTendsToIndependence(t *testing.T) {
	for _, theta := range []float64{0.3, 1.5, 2.8} {
		u := theta / math.Pi
		small := BothSeparate(500, theta) - u*u
		large := BothSeparate(2000, theta) - u*u
		assert.InEpsilon(t, 4, small/large, 0.02, "θ=%v", theta)
	}
}
