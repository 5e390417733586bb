package mse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/kernels"
)

// Against (1 + k(2x, 2y) − 2k²)/(2m) of package kernels, with what that loses where x ≈ y.
func TestStationaryKernels(t *testing.T) {
	laws := map[kernels.Kernel]Error{kernels.Laplacian{}: LaplacianIID}
	for _, nu := range []float64{0.5, 1.5, 2.5} {
		laws[kernels.Matern{Nu: nu}] = MaternIID(nu)
	}
	for k, law := range laws {
		for _, size := range []float64{1e-3, 0.1, 1, 5, 30} {
			x, y := floats.ScaleTo(make([]float64, 5), size, pointX), floats.ScaleTo(make([]float64, 5), size, pointY)
			v := k.Eval(x, y)
			double := k.Eval(floats.ScaleTo(make([]float64, 5), 2, x), floats.ScaleTo(make([]float64, 5), 2, y))
			assert.InDelta(t, (1+double-2*v*v)/14, law(x, y, 7), 1e-15, "%v at size %v", k, size)
		}
		assert.Zero(t, law(pointX, pointX, 7), "%v", k)
		far := []float64{1e300, -1e300, 1e300, 1e300, 0}
		assert.InDelta(t, 1.0/14, law(far, floats.ScaleTo(make([]float64, 5), -1, far), 7), 1e-16, "%v", k)
	}
	// To lowest order in r = ‖x−y‖: 2r, (2√3r)³/6 and (2√5r)⁴/36.
	x, y := []float64{1, 2}, []float64{1 + 0x1p-20, 2}
	r := 0x1p-20
	assert.InEpsilon(t, 2*r/2, MaternIID(0.5)(x, y, 1), 1e-5)
	assert.InEpsilon(t, math.Pow(2*math.Sqrt(3)*r, 3)/12, MaternIID(1.5)(x, y, 1), 1e-5)
	assert.InEpsilon(t, math.Pow(2*math.Sqrt(5)*r, 4)/72, MaternIID(2.5)(x, y, 1), 1e-5)
	assert.PanicsWithValue(t, "mse: nu = 2, want 0.5, 1.5 or 2.5", func() { MaternIID(2) })
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

func TestAngularIID(t *testing.T) {
	// At right angles each sign product is ±1 with mean 0.
	assert.InDelta(t, 1.0/7, AngularIID([]float64{2, 0}, []float64{0, 3}, 7), 1e-16)
	// In the plane one of two orthogonal rows separates there, always.
	assert.InDelta(t, 0, AngularORF([]float64{2, 0}, []float64{0, 3}, 2), 1e-15)
	// All features of the zero vector are 0, as the kernel is.
	assert.Zero(t, AngularIID([]float64{0, 0}, []float64{0, 3}, 2))
	assert.Zero(t, AngularORF([]float64{1, 0}, []float64{0, 0}, 2))
}
