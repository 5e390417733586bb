package mse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

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

func TestAngularIID(t *testing.T) {
	// At right angles each sign product is ±1 with mean 0.
	assert.InDelta(t, 1.0/7, AngularIID([]float64{2, 0}, []float64{0, 3}, 7), 1e-16)
	// In the plane one of two orthogonal rows separates there, always.
	assert.InDelta(t, 0, AngularORF([]float64{2, 0}, []float64{0, 3}, 2), 1e-15)
	// All features of the zero vector are 0, as the kernel is.
	assert.Zero(t, AngularIID([]float64{0, 0}, []float64{0, 3}, 2))
	assert.Zero(t, AngularORF([]float64{1, 0}, []float64{0, 0}, 2))
}
