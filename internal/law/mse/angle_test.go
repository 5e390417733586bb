package mse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate/quad"

	"github.com/seed-feabd252/randfeat/orf"
)

// The second moment of order 2 by integration over the two coordinates of w in the plane of x and y,
// in polar form: E[r⁴] = 8 and E[r⁸] = 384.
func TestRampsIntegral(t *testing.T) {
	law, ok := OfArcCosine(2).Over(Rows{Ensemble: orf.IID{}, M: 3, D: 2}).Estimate()
	require.True(t, ok)
	for _, theta := range []float64{0, 0.2, 1, 2, 3} {
		x, y := []float64{1.5, 0}, []float64{0.7 * math.Cos(theta), 0.7 * math.Sin(theta)}
		moment := func(power float64) float64 {
			return quad.Fixed(func(a float64) float64 {
				return math.Pow(1.5*math.Cos(a)*0.7*math.Cos(a-theta), power) / (2 * math.Pi)
			}, theta-math.Pi/2, math.Pi/2, 40, quad.Legendre{}, 0)
		}
		first, second := 2*8*moment(2), 4*384*moment(4)
		assert.InDelta(t, (second-first*first)/3, law.MSE(x, y), 1e-13*second, "θ=%v", theta)
	}
	// Next to θ = π: J₄ = 221184/9!·ψ⁹·(1 + O(ψ²)), and the two ways to compute it meet.
	assert.InEpsilon(t, 221184./362880*1e-27, arcCosine4(1e-3), 1e-5)
	assert.InEpsilon(t, arcCosine4(1.5), arcCosine4(1.5-0x1p-52), 1e-13)
	assert.InEpsilon(t, 105*math.Pi, arcCosine4(math.Pi), 1e-15)
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

// In the plane two orthogonal rows are a turn apart: means over all turns of the first.
func TestStepORF(t *testing.T) {
	for _, theta := range []float64{0.2, 1, 1.5, 1.7, 2, 3} {
		const nodes = 100000
		var mean, second float64
		for i := range nodes {
			at := 2 * math.Pi * (float64(i) + 0.5) / nodes
			var v float64
			for range 2 {
				if math.Cos(at) > 0 && math.Cos(at-theta) > 0 {
					v++ // 2, half of it for each row
				}
				at += math.Pi / 2
			}
			mean, second = mean+v/nodes, second+v*v/nodes
		}
		x, y := []float64{1.5, 0}, []float64{0.7 * math.Cos(theta), 0.7 * math.Sin(theta)}
		// Each of at most 8 jumps moves by half a node.
		assert.InDelta(t, second-mean*mean, StepORF(x, y, 2), 4.*8/nodes, "θ=%v", theta)
	}
	x, zero := []float64{1.5, 0, 2}, []float64{0, 0, 0}
	assert.Equal(t, 0.25/7, StepORF(x, zero, 7))
	assert.Zero(t, StepORF(zero, zero, 7))
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
