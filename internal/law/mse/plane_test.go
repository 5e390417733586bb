package mse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/orf"
)

// The rules of 7 and of 15 points are exact for polynomials of degree 13 and 22, and the one
// through 15 points has the ends of those of degree 14.
func TestKronrod(t *testing.T) {
	var q quadrature
	for degree := 0.0; degree <= 22; degree++ {
		p := q.panel(func(v, _ float64) (value, err, size float64) { return plainly(math.Pow(v, degree)) }, -1, 1, 0)
		want := (1 + math.Pow(-1, degree)) / (degree + 1)
		assert.InDelta(t, want, p.value, 1e-15, "degree %v", degree)
		if degree <= 12 {
			assert.Less(t, p.err, 2e-14, "degree %v", degree)
		} else {
			assert.Greater(t, p.err, 1e-9, "degree %v", degree)
		}
	}
}

// The error counts wherever a kink or a jump is, gaps between points and ends included: it is
// at least a quarter of the true one.
func TestErrorsOfKinksAndJumps(t *testing.T) {
	var q quadrature
	for c := -0.9999; c < 1; c += 0.0003 {
		kink := q.panel(func(v, _ float64) (value, err, size float64) { return plainly(math.Max(v, c)) }, -1, 1, 0)
		assert.LessOrEqual(t, math.Abs(kink.value-(1-c*c)/2-c*(1+c)), 4*kink.err, "kink at %v", c)
		jump := q.panel(func(v, _ float64) (value, err, size float64) {
			if v > c {
				return plainly(1)
			}
			return plainly(0)
		}, -1, 1, 0)
		assert.LessOrEqual(t, math.Abs(jump.value-(1-c)), 4*jump.err, "jump at %v", c)
	}
}

// Functions with kinks and jumps elsewhere than at 0, singular ones, and waves.
func TestPlaneOfRoughFunctions(t *testing.T) {
	t.Parallel()
	type functions = []func(v float64) float64
	clip := functions{func(v float64) float64 { return math.Max(-1, math.Min(1, v)) }}
	for _, s := range []float64{0.3, 1, 3, 10, 30} {
		x := []float64{0.6 * s, 0.8 * s}
		mean, variance, ok := Plane(x, x, clip, 0x1p-52)
		assert.True(t, ok)
		// E[min(u², 1)] and E[min(u⁴, 1)]
		a := 1 / s
		density, inside := math.Exp(-a*a/2)/math.Sqrt(2*math.Pi), math.Erf(a/math.Sqrt2)
		second := s*s*(inside-2*a*density) + 1 - inside
		fourth := s*s*s*s*(3*inside-(6*a+2*a*a*a)*density) + 1 - inside
		assert.InEpsilon(t, second, mean, 1e-8, "clipped at s=%v", s)
		assert.InEpsilon(t, fourth-second*second, variance, 1e-6, "clipped at s=%v", s)

		// log|u| has the mean log s − (γ + log 2)/2 and the variance π²/8.
		log := functions{func(v float64) float64 { return math.Log(math.Abs(v)) }}
		mean, _, ok = Plane(x, x, log, 0x1p-52)
		assert.True(t, ok)
		const euler = 0.5772156649015329
		half := math.Log(s) - (euler+math.Ln2)/2
		assert.InEpsilon(t, half*half+math.Pi*math.Pi/8, mean, 1e-8, "logarithm at s=%v", s)
	}
	// Steps of 1 that are small against s are ½ below and as good as independent, with a variance
	// of 1/12 at one point.
	floor := functions{math.Floor}
	x := []float64{3, 0}
	mean, _, ok := Plane(x, x, floor, 0x1p-52)
	assert.True(t, ok)
	assert.InEpsilon(t, 9+1.0/4+1.0/12, mean, 1e-9)
	mean, _, ok = Plane(x, []float64{1.5, 1.5}, floor, 0x1p-52)
	assert.True(t, ok)
	assert.InEpsilon(t, 4.5+1.0/4, mean, 1e-8)
	// E[cos u·cos v] and E[cos²u·cos²v] are those of exponentials with imaginary exponents.
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
	step := func(v float64) float64 { return (1 + sign(v)) / math.Sqrt2 }
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
		"step":       {functions{step}, nil, StepIID},
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
