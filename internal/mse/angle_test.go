package mse

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
		assert.InDelta(t, want, bothSeparate(3, theta), 1e-12, "θ=%v", theta)
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
			assert.InDelta(t, 2*float64(d-2)/(math.Pi*math.Pi*float64(d-1))*sum, bothSeparate(d, theta), 1e-12, "d=%d θ=%v", d, theta)
		}
	}
}

// P₁₂ rises from 0 to 1 between the bounds that P(A) = P(B) = u sets to P(A ∩ B).
func TestBothSeparateIsAProbability(t *testing.T) {
	for _, d := range []int{2, 3, 4, 5, 8, 16, 64, 1000} {
		assert.InDelta(t, 1, bothSeparate(d, math.Pi), 1e-12, "d=%d", d)
		assert.Zero(t, bothSeparate(d, 0), "d=%d", d)
		last := 0.0
		for theta := 0.05; theta < math.Pi; theta += 0.05 {
			p, u := bothSeparate(d, theta), theta/math.Pi
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
		small := bothSeparate(500, theta) - u*u
		large := bothSeparate(2000, theta) - u*u
		assert.InEpsilon(t, 4, small/large, 0.02, "θ=%v", theta)
	}
}

// The second moment by integration over the two coordinates of w in the plane of
// x and y, in polar form: E[r⁴] = 8.
func TestArcCosineIntegral(t *testing.T) {
	for _, theta := range []float64{0.2, 1, 2, 3} {
		x, y := []float64{1.5, 0}, []float64{0.7 * math.Cos(theta), 0.7 * math.Sin(theta)}
		moment := func(power float64) float64 {
			// Both projections are positive for angles between θ − π/2 and π/2.
			return quad.Fixed(func(a float64) float64 {
				return math.Pow(1.5*math.Cos(a)*0.7*math.Cos(a-theta), power) / (2 * math.Pi)
			}, theta-math.Pi/2, math.Pi/2, 40, quad.Legendre{}, 0)
		}
		first, second := 2*2*moment(1), 4*8*moment(2)
		assert.InDelta(t, second-first*first, ArcCosineIID(x, y, 1), 1e-13, "θ=%v", theta)
	}
}

// Next to θ = π both kernels vanish: J₁ = ψ³/3·(1 − ψ²/10 + …) and J₂ = 4ψ⁵/15·(1 − 4ψ²/21 + …)
// for ψ = π − θ.
func TestArcCosineNextToOppositePoints(t *testing.T) {
	for _, psi := range []float64{0.49, 0.1, 1e-3, 1e-8, 1e-60} {
		first, second := arcCosine(psi)
		p2 := psi * psi
		assert.InEpsilon(t, psi*p2/3*(1-p2/10*(1-p2/28*(1-p2/54))), first, 1e-7*p2*p2+1e-15, "ψ=%v", psi)
		assert.InEpsilon(t, 4*psi*p2*p2/15*(1-4*p2/21*(1-p2/12)), second, 1e-3*p2*p2*p2+1e-15, "ψ=%v", psi)
	}
	// The two ways to compute them meet.
	below, under := arcCosine(0.5 - 0x1p-54)
	above, over := arcCosine(0.5)
	assert.InEpsilon(t, above, below, 1e-13)
	assert.InEpsilon(t, over, under, 1e-12)
	x, y := []float64{1, 0}, []float64{-1, 1e-5}
	assert.InEpsilon(t, 8e-25/(15*math.Pi), ArcCosineIID(x, y, 1), 1e-4)
}

// A term is 2 where both signs are positive.
func TestStepIID(t *testing.T) {
	for _, theta := range []float64{0.2, 1, 2, 3, math.Pi} {
		x, y := []float64{1.5, 0}, []float64{0.7 * math.Cos(theta), 0.7 * math.Sin(theta)}
		p := (math.Pi - theta) / (2 * math.Pi)
		assert.InDelta(t, 4*p*(1-p)/7, StepIID(x, y, 7), 1e-15, "θ=%v", theta)
	}
	x, zero := []float64{1.5, 0}, []float64{0, 0}
	// Half of the steps at x are 1, and those at 0 are ½: a term is 1 or 0.
	assert.Equal(t, 0.25/7, StepIID(x, zero, 7))
	assert.Equal(t, 0.25/7, StepIID(zero, x, 7))
	assert.Zero(t, StepIID(zero, zero, 7))
}

func TestAngularIID(t *testing.T) {
	// At right angles each sign product is ±1 with mean 0.
	assert.InDelta(t, 1.0/7, AngularIID([]float64{2, 0}, []float64{0, 3}, 7), 1e-16)
	// In the plane one of two orthogonal rows separates there, always.
	assert.InDelta(t, 0, AngularORF([]float64{2, 0}, []float64{0, 3}, 2), 1e-15)
	// All features of the zero vector are 0, as the kernel is.
	assert.Zero(t, AngularIID([]float64{0, 0}, []float64{0, 3}, 2))
	assert.Zero(t, AngularORF([]float64{1, 0}, []float64{0, 0}, 2))
}
