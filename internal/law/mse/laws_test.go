package mse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/orf"
)

type law struct {
	name     string
	iid, orf func(x, y []float64, m int) float64
}

var both = []law{
	{"Gaussian", Trig.IID.Gaussian, Trig.Haar.Gaussian},
	{"SoftmaxTrig", Trig.IID.Softmax, Trig.Haar.Softmax},
	{"SoftmaxPositive", Positive.IID.Softmax, Positive.Haar.Softmax},
	{"SoftmaxHyperbolic", Hyperbolic.IID.Softmax, Hyperbolic.Haar.Softmax},
	{"SoftmaxOptimal", Optimal(-0.3).IID.Softmax, Optimal(-0.3).Haar.Softmax},
	{"GaussianPositive", Positive.IID.Gaussian, Positive.Haar.Gaussian},
	{"DotProduct", DotProduct(orf.IID{}), DotProduct(orf.GramSchmidt{})},
	{"Angular", AngularIID, AngularORF},
	{"GaussianSimplex", Trig.IID.Gaussian, Trig.Simplex.Gaussian},
	{"SoftmaxTrigSimplex", Trig.IID.Softmax, Trig.Simplex.Softmax},
	{"SoftmaxPositiveSimplex", Positive.IID.Softmax, Positive.Simplex.Softmax},
	{"SoftmaxHyperbolicSimplex", Hyperbolic.IID.Softmax, Hyperbolic.Simplex.Softmax},
	{"SoftmaxOptimalSimplex", Optimal(-0.3).IID.Softmax, Optimal(-0.3).Simplex.Softmax},
	{"DotProductSimplex", DotProduct(orf.IID{}), DotProduct(orf.Simplex{})},
}

var (
	pointX = []float64{0.4, -0.2, 0.7, 0.1, 0.3}
	pointY = []float64{-0.1, 0.5, 0.6, 0.2, 0.9}
)

// One row is one row; of two rows, orthogonal ones have the covariance of a
// block; blocks are independent.
func TestStacking(t *testing.T) {
	x, y := pointX, pointY
	for _, l := range both {
		v := l.iid(x, y, 1)
		assert.InEpsilon(t, v/9, l.iid(x, y, 9), 1e-14, l.name)
		assert.InEpsilon(t, v, l.orf(x, y, 1), 1e-14, l.name)
		c := 2*l.orf(x, y, 2) - v
		for m := 1; m <= 5; m++ {
			n := float64(m)
			assert.InEpsilon(t, (v+(n-1)*c)/n, l.orf(x, y, m), 1e-12, "%s m=%d", l.name, m)
		}
		assert.InEpsilon(t, l.orf(x, y, 5)/4, l.orf(x, y, 20), 1e-12, l.name)
		assert.InEpsilon(t, (25*l.orf(x, y, 5)+9*l.orf(x, y, 3))/64, l.orf(x, y, 8), 1e-12, l.name)
		// In R¹ a block holds one row.
		assert.InEpsilon(t, l.iid(x[:1], y[:1], 6)+1, l.orf(x[:1], y[:1], 6)+1, 1e-14, l.name)
	}
}

func TestOrthogonalRowsHelpOrNot(t *testing.T) {
	x, y := pointX, pointY
	for _, l := range both {
		assert.Less(t, l.orf(x, y, 5), l.iid(x, y, 5), l.name)
	}
}

func TestNearbyPointsKeepDigits(t *testing.T) {
	// To lowest order in h = ‖x−y‖, V = h⁴/2 and c = −h⁴/(2(d+2)).
	x := []float64{1, 2, 3, 4}
	y := []float64{1 + 0x1p-20, 2, 3, 4}
	h4 := math.Pow(0x1p-20, 4)
	assert.InEpsilon(t, h4/2, Trig.IID.Gaussian(x, y, 1), 1e-11)
	assert.InEpsilon(t, h4/4*(1./2-1./12), 2*Trig.Haar.Gaussian(x, y, 2)/4, 1e-11)
}

func TestBadArguments(t *testing.T) {
	one := []float64{1}
	for _, l := range both {
		for _, f := range []func(x, y []float64, m int) float64{l.iid, l.orf} {
			assert.PanicsWithValue(t, "mse: m = 0, want at least 1", func() { f(one, one, 0) }, l.name)
			assert.PanicsWithValue(t, "mse: x has length 1, y has length 2, want the same, at least 1",
				func() { f(one, []float64{1, 2}, 3) }, l.name)
			bad := []float64{math.NaN(), 1, 1}
			assert.True(t, math.IsNaN(f(bad, []float64{1, 2, 3}, 3)), l.name)
		}
	}
	assert.PanicsWithValue(t, "mse: Hadamard.Factors = 0, want at least 1", func() { DotProduct(orf.Hadamard{})(one, one, 1) })
	assert.PanicsWithValue(t, "mse: Givens.Rotations = -1, want at least 0", func() { DotProduct(orf.Givens{Rotations: -1})(one, one, 1) })
}
