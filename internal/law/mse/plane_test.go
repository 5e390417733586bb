package mse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/orf"
)

// E[cos u·cos v] and E[cos²u·cos²v] are those of exponentials with imaginary exponents.
func TestPlaneOfWaves(t *testing.T) {
	t.Parallel()
	type functions = []func(v float64) float64
	for _, s := range []float64{3, 10, 20} {
		x, y := []float64{s, 0}, []float64{0.8 * s, 0.6 * s}
		mean, variance, ok := Plane(x, y, functions{math.Cos}, 0x1p-52)
		assert.True(t, ok)
		cos := func(a, b float64) float64 { // of ua and vb
			return (math.Exp(-s*s*(a*a+b*b+1.6*a*b)/2) + math.Exp(-s*s*(a*a+b*b-1.6*a*b)/2)) / 2
		}
		assert.InDelta(t, cos(1, 1), mean, 1e-9, "s=%v", s)
		square := (1 + cos(2, 0) + cos(0, 2) + cos(2, 2)) / 4
		assert.InEpsilon(t, square-cos(1, 1)*cos(1, 1), variance, 1e-8, "s=%v", s)
	}
}

// What the quadrature cannot say it does not.
func TestPlaneKnowsItsLimits(t *testing.T) {
	t.Parallel()
	type functions = []func(v float64) float64
	x, y := []float64{1, 0.5}, []float64{-0.3, 2}
	for name, f := range map[string]functions{
		"kinks elsewhere":       {func(v float64) float64 { return math.Max(-1, math.Min(1, v)) }},
		"jumps elsewhere":       {math.Floor},
		"an infinite variance":  {func(v float64) float64 { return 1 / v }},
		"jumps without end":     {func(v float64) float64 { return math.Floor(1e4 * v) }},
		"short waves":           {func(v float64) float64 { return math.Cos(1e4 * v) }},
		"no number below 0":     {math.Log},
		"beyond the range":      {func(v float64) float64 { return math.Exp(300 * v) }},
		"one of two is unknown": {math.Cos, math.Sqrt},
	} {
		_, _, ok := Plane(x, y, f, 0x1p-52)
		assert.False(t, ok, name)
	}
	_, _, ok := Plane(x, x, functions{func(v float64) float64 { return 1 / v }}, 0x1p-52)
	assert.False(t, ok, "an infinite variance at one point")
	// Positive features far out: the variance e^(2p) − e^p has a p of 250.
	_, variance, ok := Plane([]float64{10, 0}, []float64{5, 5}, functions{math.Exp}, 0x1p-52)
	assert.True(t, ok)
	assert.InEpsilon(t, math.Exp(500), variance, 1e-8)
	mean, variance, ok := Plane([]float64{math.NaN(), 1}, y, functions{math.Cos}, 0x1p-52)
	assert.True(t, ok && math.IsNaN(mean) && math.IsNaN(variance))
	assert.PanicsWithValue(t, "mse: x has length 2, y has length 1, want the same, at least 1", func() {
		Plane(x, y[:1], functions{math.Cos}, 0x1p-52)
	})
	// Noise of float32 does not keep halving panels.
	single := functions{func(v float64) float64 { return float64(float32(math.Tanh(float64(float32(v))))) }}
	want, exact, ok := Plane(x, y, functions{math.Tanh}, 0x1p-52)
	assert.True(t, ok)
	mean, variance, ok = Plane(x, y, single, 0x1p-23)
	assert.True(t, ok)
	assert.InDelta(t, want, mean, 1e-5)
	assert.InEpsilon(t, exact, variance, 1e-4)
}

// Against the closed forms of the maps that have one.
func TestPlane(t *testing.T) {
	t.Parallel()
	sign := func(v float64) float64 {
		switch {
		case v > 0:
			return 1
		case v < 0:
			return -1
		}
		return 0
	}
	ramp := func(v float64) float64 { return math.Sqrt2 * math.Max(v, 0) }
	type functions = []func(v float64) float64
	for name, c := range map[string]struct {
		f      functions
		factor func(z pair) float64 // h(x)h(y)
		law    Error
	}{
		"trig":       {functions{math.Cos, math.Sin}, nil, Trig.IID.Gaussian},
		"positive":   {functions{math.Exp}, func(z pair) float64 { return math.Exp(-(z.xx + z.yy) / 2) }, Positive.IID.Softmax},
		"hyperbolic": {functions{math.Exp, func(v float64) float64 { return math.Exp(-v) }}, func(z pair) float64 { return math.Exp(-(z.xx+z.yy)/2) / 2 }, Hyperbolic.IID.Softmax},
		"dot":        {functions{func(v float64) float64 { return v }}, nil, DotProduct(orf.IID{})},
		"angular":    {functions{sign}, nil, AngularIID},
		"ramp":       {functions{ramp}, nil, ArcCosineIID},
	} {
		for _, scale := range []float64{0.3, 1, 2.5} {
			for _, pair := range [][2][]float64{
				{pointX, pointY}, {{1, 2, 0}, {-2, 1, 0}}, {{1, 2, 0}, {1, 2, 0}}, {{1, 2, 0}, {-1, -2, 0}}, {{0, 0, 0}, {1, 2, 0}}, {{1, 2, 0}, {0, 0, 0}},
				{{0, 0}, {0, 0}}, {{1, 2, 0}, {1.001, 2, 0}}, {{1, 2, 0}, {-1, -2, 1e-7}}, {{1, 2, 0}, {0.1, 0.2, 0}}, {{1, 0.1, 0}, {0.1, 1, -2}},
			} {
				x, y := floats.ScaleTo(make([]float64, len(pair[0])), scale/2, pair[0]), floats.ScaleTo(make([]float64, len(pair[1])), scale/2, pair[1])
				factor := 1.0
				if c.factor != nil {
					factor = c.factor(newPair(x, y, 1))
				}
				_, variance, ok := Plane(x, y, c.f, 0x1p-52)
				want := c.law(x, y, 1)
				if assert.True(t, ok, "%s at %v, %v", name, x, y) {
					assert.InDelta(t, want, factor*factor*variance, 1e-8*want+1e-15, "%s at %v, %v", name, x, y)
				}
			}
		}
	}
}
