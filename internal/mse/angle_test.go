package mse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/integrate/quad"
)

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
