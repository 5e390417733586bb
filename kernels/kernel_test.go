package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate/quad"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/validate/conformance"
)

// all has every kernel of the package, with and without default parameters.
var all = []kernels.Kernel{
	kernels.DotProduct{},
	kernels.Gaussian{}, kernels.Gaussian{LengthScale: 2.5},
	kernels.Softmax{}, kernels.Softmax{Gamma: 0.25},
	kernels.Angular{},
	kernels.ArcCosine{}, kernels.ArcCosine{Order: 1}, kernels.ArcCosine{Order: 2},
	kernels.Polynomial{Degree: 1}, kernels.Polynomial{Degree: 3, Gamma: 0.5, Offset: 1},
	kernels.Laplacian{}, kernels.Laplacian{LengthScale: 3},
	kernels.Matern{}, kernels.Matern{Nu: 0.5, LengthScale: 2}, kernels.Matern{Nu: 2.5, LengthScale: 0.7},
	kernels.RationalQuadratic{}, kernels.RationalQuadratic{Alpha: 0.3, LengthScale: 2},
	kernels.ELU{},
	kernels.Sum{kernels.Gaussian{}, kernels.ELU{}, kernels.Laplacian{}},
	kernels.Product{kernels.Angular{}, kernels.Softmax{Gamma: 0.5}, kernels.Laplacian{}},
	kernels.Scaled{K: kernels.Sum{kernels.Matern{}, kernels.Product{kernels.Gaussian{}, kernels.DotProduct{}}}, By: 0.5},
	rounded{},
}

// rounded is a kernel of a user's own: the dot product of coordinates rounded
// to integers.
type rounded struct{}

func (rounded) Eval(x, y []float64) float64 {
	var s float64
	for i, v := range x {
		s += math.Round(v) * math.Round(y[i])
	}
	return s
}

// TestKnownValues compares with values computed by hand at x = (3, 4),
// y = (0, 5): xᵀy = 20, ‖x‖ = ‖y‖ = 5, cos θ = 4/5, ‖x−y‖² = 10, ‖x−y‖₁ = 4.
func TestKnownValues(t *testing.T) {
	x, y := []float64{3, 4}, []float64{0, 5}
	theta, r := math.Acos(0.8), math.Sqrt(10)
	for _, c := range []struct {
		k    kernels.Kernel
		want float64
	}{
		{kernels.DotProduct{}, 20},
		{kernels.Gaussian{}, math.Exp(-5)},
		{kernels.Gaussian{LengthScale: 2}, math.Exp(-10.0 / 8)},
		{kernels.Softmax{}, math.Exp(20)},
		{kernels.Softmax{Gamma: 0.1}, math.Exp(2)},
		{kernels.Angular{}, 1 - 2*theta/math.Pi},
		{kernels.ArcCosine{Order: 0}, 1 - theta/math.Pi},
		{kernels.ArcCosine{Order: 1}, 25 / math.Pi * (0.6 + (math.Pi-theta)*0.8)},
		{kernels.ArcCosine{Order: 2}, 625 / math.Pi * (3*0.6*0.8 + (math.Pi-theta)*(1+2*0.64))},
		{kernels.Polynomial{Degree: 2}, 400},
		{kernels.Polynomial{Degree: 3, Gamma: 0.1, Offset: 1}, 27},
		{kernels.Laplacian{}, math.Exp(-4)},
		{kernels.Laplacian{LengthScale: 8}, math.Exp(-0.5)},
		{kernels.Matern{Nu: 0.5}, math.Exp(-r)},
		{kernels.Matern{}, (1 + math.Sqrt(3)*r) * math.Exp(-math.Sqrt(3)*r)},
		{kernels.Matern{Nu: 1.5, LengthScale: r}, (1 + math.Sqrt(3)) * math.Exp(-math.Sqrt(3))},
		{kernels.Matern{Nu: 2.5, LengthScale: r}, (1 + math.Sqrt(5) + 5.0/3) * math.Exp(-math.Sqrt(5))},
		{kernels.RationalQuadratic{}, 1.0 / 6},
		{kernels.RationalQuadratic{Alpha: 2, LengthScale: r}, math.Pow(1.25, -2)},
		{kernels.ELU{}, 4*1 + 5*6},
		{kernels.Sum{kernels.DotProduct{}, kernels.RationalQuadratic{}}, 20 + 1.0/6},
		{kernels.Product{kernels.DotProduct{}, kernels.DotProduct{}, kernels.Scaled{K: kernels.DotProduct{}, By: 0.5}}, 4000},
	} {
		// A few roundings of 2⁻⁵³ each, magnified by the exponent 20 at most.
		assert.InEpsilon(t, c.want, c.k.Eval(x, y), 30*0x1p-52, "%v", c.k)
	}
	assert.InEpsilon(t, math.Exp(-2)*5+math.Exp(-0.25)*1, kernels.ELU{}.Eval([]float64{-2, -0.25}, []float64{4, 0}), 1e-15)
}

// TestArcCosineIsItsExpectation integrates over the half-plane of directions
// where both rectifiers are open: for w in the plane of x and y with polar
// coordinates (r, a), E[r^{2n}] is 1, 2 and 8.
func TestArcCosineIsItsExpectation(t *testing.T) {
	moment := []float64{1, 2, 8}
	for n := range 3 {
		for _, theta := range []float64{0, 1e-3, 0.3, 1.2, math.Pi / 2, 2.5, 2.7, 3, 3.1415} {
			y := []float64{2 * math.Cos(theta), 2 * math.Sin(theta)}
			from, to := theta-math.Pi/2, math.Pi/2
			want := quad.Fixed(func(a float64) float64 {
				return math.Pow(3*math.Cos(a)*2*math.Cos(a-theta), float64(n))
			}, from, to, 60, nil, 0) * 2 * moment[n] / (2 * math.Pi)
			got := kernels.ArcCosine{Order: n}.Eval([]float64{3, 0}, y)
			// θ is right to a few ulp; J_n falls as ψ^{2n+1} at most.
			psi := math.Pi - theta
			assert.InEpsilon(t, want, got, 1e-12+10*0x1p-51*float64(2*n+1)/psi, "order %d θ=%v", n, theta)
		}
	}
}

func TestAngleNextToZeroAndPi(t *testing.T) {
	x := []float64{1, 2, -3, 0.5}
	scaled := func(c float64) []float64 {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = c * v
		}
		return y
	}
	assert.Equal(t, 1.0, kernels.Angular{}.Eval(x, x))
	assert.Equal(t, -1.0, kernels.Angular{}.Eval(x, scaled(-1)))
	assert.InDelta(t, 1, kernels.Angular{}.Eval(x, scaled(3)), 0x1p-50)
	assert.InDelta(t, -1, kernels.Angular{}.Eval(x, scaled(-3e200)), 0x1p-50)
	for n := range 3 {
		assert.Zero(t, kernels.ArcCosine{Order: n}.Eval(x, scaled(-1)))
	}
	assert.Equal(t, 1.0, kernels.ArcCosine{Order: 0}.Eval(x, x))
	assert.InEpsilon(t, 14.25, kernels.ArcCosine{Order: 1}.Eval(x, x), 1e-15)
	assert.InEpsilon(t, 3*14.25*14.25, kernels.ArcCosine{Order: 2}.Eval(x, x), 2e-15)
	for _, tiny := range []float64{1e-9, 1e-12, 1e-15} {
		got := 1 - kernels.Angular{}.Eval([]float64{1, 0}, []float64{1, tiny})
		assert.InDelta(t, 2*tiny/math.Pi, got, 0x1p-52, "θ = %v", tiny)
		// J₁ ≈ ψ³/3 and J₂ ≈ 4ψ⁵/15·… are positive however small.
		opposite := []float64{-1, tiny}
		assert.InEpsilon(t, tiny*tiny*tiny/3/math.Pi, kernels.ArcCosine{Order: 1}.Eval([]float64{1, 0}, opposite), 1e-14)
		assert.InEpsilon(t, 4*math.Pow(tiny, 5)/15/math.Pi, kernels.ArcCosine{Order: 2}.Eval([]float64{1, 0}, opposite), 1e-14)
	}
}

// Kernels of angles have their exact values at x = y and x = −y, with no rounding.
func TestAngleOfItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		x, minus := make([]float64, 1+rng.IntN(100)), []float64{}
		for i := range x {
			x[i] = rng.NormFloat64()
			minus = append(minus, -x[i])
		}
		both := dense.Of(2, len(x), append(slices.Clone(x), minus...))
		assert.Equal(t, []float64{1, -1}, kernels.Gram(dense.Matrix[float64]{}, kernels.Angular{}, both.RowRange(0, 1), both).Data)
		narrow := dense.Copy(dense.Matrix[float32]{}, both)
		assert.Equal(t, []float32{1, -1}, kernels.Gram(dense.Matrix[float32]{}, kernels.Angular{}, narrow.RowRange(0, 1), narrow).Data)
		for n := range 3 {
			assert.Zero(t, kernels.ArcCosine{Order: n}.Eval(x, minus))
		}
		assert.Equal(t, 1.0, kernels.ArcCosine{Order: 0}.Eval(x, x))
	}
}

func TestZeroVector(t *testing.T) {
	zero, y := []float64{0, 0}, []float64{1, -2}
	for _, other := range [][]float64{zero, y} {
		assert.Zero(t, kernels.Angular{}.Eval(zero, other))
		assert.Equal(t, 0.5, kernels.ArcCosine{Order: 0}.Eval(zero, other))
		assert.Zero(t, kernels.ArcCosine{Order: 1}.Eval(other, zero))
		assert.Zero(t, kernels.ArcCosine{Order: 2}.Eval(other, zero))
	}
	for _, k := range all {
		assert.False(t, math.IsNaN(k.Eval(zero, y)), "%v", k)
	}
}

// TestExtremes: neither squares nor length-scales overflow on the way to a
// value that does not.
func TestExtremes(t *testing.T) {
	for _, c := range []float64{1e-200, 1e-100, 1, 1e100, 1e200} {
		x, y := []float64{c, 0}, []float64{0, c}
		assert.InEpsilon(t, math.Exp(-1), kernels.Gaussian{LengthScale: c}.Eval(x, y), 1e-15)
		assert.InEpsilon(t, math.Exp(-2), kernels.Laplacian{LengthScale: c}.Eval(x, y), 1e-15)
		assert.InEpsilon(t, 0.5, kernels.RationalQuadratic{LengthScale: c}.Eval(x, y), 1e-15)
		assert.InEpsilon(t, math.Exp(-math.Sqrt2), kernels.Matern{Nu: 0.5, LengthScale: c}.Eval(x, y), 1e-15)
		assert.InDelta(t, 0, kernels.Angular{}.Eval(x, y), 1e-15)
	}
	far := []float64{1e300}
	for _, k := range []kernels.Kernel{kernels.Gaussian{}, kernels.Laplacian{}, kernels.Matern{Nu: 0.5}, kernels.Matern{}, kernels.Matern{Nu: 2.5}, kernels.RationalQuadratic{Alpha: 9}} {
		assert.Zero(t, k.Eval(far, []float64{-1e300}), "%v", k)
	}
	assert.Equal(t, math.Inf(1), kernels.Softmax{}.Eval([]float64{30}, []float64{30}))
	assert.Zero(t, kernels.Softmax{}.Eval([]float64{30}, []float64{-30}))
}

// TestContracts: every kernel keeps the contract of Kernel, and an infinite coordinate makes the
// value NaN or infinite.
func TestContracts(t *testing.T) {
	for _, d := range []int{1, 6} {
		x := cloud[float64](1, 30, d, 0, 0.5)
		pullback := kernels.Pullback{K: kernels.Gaussian{}, A: cloud[float64](2, 3, d, 0, 0.5), Centre: make([]float64, d), Offset: []float64{1, 2, 3}}
		for _, k := range append(slices.Clone(all), pullback) {
			if _, own := k.(rounded); own {
				continue
			}
			assert.NoError(t, conformance.Kernel(k, x), "%v, d = %d", k, d)
			for j := range d {
				for sign := -1; sign <= 1; sign += 2 {
					p := x.RowRange(0, 1).Clone().Row(0)
					p[j] = math.Inf(sign)
					for _, y := range [][]float64{x.Row(1), make([]float64, d), p} {
						assert.False(t, k.Eval(p, y)-k.Eval(p, y) == 0, "%v hides %v in coordinate %d: %v", k, p[j], j, k.Eval(p, y))
						assert.False(t, k.Eval(y, p)-k.Eval(y, p) == 0, "%v hides %v in coordinate %d: %v", k, p[j], j, k.Eval(y, p))
					}
				}
			}
		}
	}
}

// The zero value of a kernel is the kernel of its defaults, or Check, Eval and Gram name the field
// to set.
func TestZeroValues(t *testing.T) {
	x := []float64{1, 2}
	for zero, full := range map[kernels.Kernel]kernels.Kernel{
		kernels.DotProduct{}: kernels.DotProduct{}, kernels.ELU{}: kernels.ELU{}, kernels.Angular{}: kernels.Angular{},
		kernels.Softmax{}:           kernels.Softmax{Gamma: 1},
		kernels.Polynomial{}:        kernels.Polynomial{Degree: 3, Gamma: 1},
		kernels.Gaussian{}:          kernels.Gaussian{LengthScale: 1},
		kernels.Laplacian{}:         kernels.Laplacian{LengthScale: 1},
		kernels.Matern{}:            kernels.Matern{Nu: 1.5, LengthScale: 1},
		kernels.RationalQuadratic{}: kernels.RationalQuadratic{Alpha: 1, LengthScale: 1},
		kernels.ArcCosine{}:         kernels.ArcCosine{Order: 0},
	} {
		require.NoError(t, kernels.Check(zero))
		y := []float64{0.5, 3}
		assert.Equal(t, full.Eval(x, y), zero.Eval(x, y), "%v", full)
		points := dense.Of(1, 2, x)
		assert.Equal(t, kernels.Gram(dense.Matrix[float64]{}, full, points, points), kernels.Gram(dense.Matrix[float64]{}, zero, points, points))
		assert.Equal(t, fmt.Sprint(full), fmt.Sprint(zero))
	}
	assert.InDelta(t, math.Pow(0.5-6, 3), kernels.Polynomial{}.Eval([]float64{1, -2}, []float64{0.5, 3}), 1e-12)
	for want, k := range map[string]kernels.Kernel{
		"Pullback.K": kernels.Pullback{},
	} {
		err := kernels.Check(k)
		require.ErrorContains(t, err, "kernels: "+want)
		assert.PanicsWithValue(t, err.Error(), func() { k.Eval(x, x) }, want)
		assert.PanicsWithValue(t, err.Error(), func() {
			kernels.Gram(dense.Matrix[float64]{}, k, dense.Of(1, 2, x), dense.Matrix[float64]{})
		}, want)
	}
}

func TestCheck(t *testing.T) {
	bad := []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, v := range bad {
		for name, k := range map[string]kernels.Kernel{
			"Gaussian.LengthScale":          kernels.Gaussian{LengthScale: v},
			"Softmax.Gamma":                 kernels.Softmax{Gamma: v},
			"Laplacian.LengthScale":         kernels.Laplacian{LengthScale: v},
			"Matern.LengthScale":            kernels.Matern{LengthScale: v},
			"RationalQuadratic.Alpha":       kernels.RationalQuadratic{Alpha: v},
			"RationalQuadratic.LengthScale": kernels.RationalQuadratic{LengthScale: v},
			"Polynomial.Gamma":              kernels.Polynomial{Degree: 2, Gamma: v},
		} {
			want := fmt.Sprintf("kernels: %s = %v, want a positive finite number, or 0 for 1", name, v)
			require.EqualError(t, kernels.Check(k), want)
			assert.PanicsWithValue(t, want, func() { k.Eval([]float64{1}, []float64{1}) })
			nested := kernels.Scaled{K: kernels.Sum{kernels.DotProduct{}, kernels.Product{k}}, By: 1}
			assert.EqualError(t, kernels.Check(nested), want)
			assert.PanicsWithValue(t, want, func() { nested.Eval([]float64{1}, []float64{1}) })
		}
		assert.EqualError(t, kernels.Check(kernels.Polynomial{Degree: 1, Offset: v}),
			fmt.Sprintf("kernels: Polynomial.Offset = %v, want a finite number, at least 0", v))
		assert.EqualError(t, kernels.Check(kernels.Scaled{K: kernels.DotProduct{}, By: v}),
			fmt.Sprintf("kernels: Scaled.By = %v, want a positive finite number", v))
	}
	for want, k := range map[string]kernels.Kernel{
		"kernels: Polynomial.Degree = -1, want at least 1, or 0 for 3": kernels.Polynomial{Degree: -1},
		"kernels: ArcCosine.Order = 3, want 0, 1 or 2":                 kernels.ArcCosine{Order: 3},
		"kernels: ArcCosine.Order = -1, want 0, 1 or 2":                kernels.ArcCosine{Order: -1},
		"kernels: Matern.Nu = 2, want 0.5, 1.5 or 2.5, or 0 for 1.5":   kernels.Matern{Nu: 2},
		"kernels: Sum is empty, want at least one kernel":              kernels.Sum{},
		"kernels: Product is empty, want at least one kernel":          kernels.Product{},
		"kernels: Product[1] is nil":                                   kernels.Product{kernels.DotProduct{}, nil},
		"kernels: Scaled.K is nil":                                     kernels.Scaled{By: 1},
		"kernels: Scaled.By = 0, want a positive finite number":        kernels.Scaled{K: kernels.DotProduct{}},
	} {
		assert.EqualError(t, kernels.Check(k), want)
		assert.PanicsWithValue(t, want, func() { k.Eval([]float64{1}, []float64{1}) })
	}
	assert.EqualError(t, kernels.Check(nil), "kernels: k is nil")
	for _, k := range all {
		assert.NoError(t, kernels.Check(k), "%v", k)
	}
}

func TestLengthsPanic(t *testing.T) {
	for _, k := range all {
		if _, own := k.(rounded); own {
			continue
		}
		assert.PanicsWithValue(t, "kernels: x has length 3, y has length 2", func() {
			k.Eval(make([]float64, 3), make([]float64, 2))
		}, "%v", k)
	}
}

func TestString(t *testing.T) {
	for want, k := range map[string]kernels.Kernel{
		"DotProduct{}":             kernels.DotProduct{},
		"Gaussian{LengthScale: 1}": kernels.Gaussian{},
		"Softmax{Gamma: 0.125}":    kernels.Softmax{Gamma: 0.125},
		"Angular{}":                kernels.Angular{},
		"ArcCosine{Order: 2}":      kernels.ArcCosine{Order: 2},
		"Polynomial{Degree: 2, Gamma: 1, Offset: 0.5}": kernels.Polynomial{Degree: 2, Offset: 0.5},
		"Laplacian{LengthScale: 3}":                    kernels.Laplacian{LengthScale: 3},
		"Matern{Nu: 1.5, LengthScale: 1}":              kernels.Matern{},
		"RationalQuadratic{Alpha: 1, LengthScale: 2}":  kernels.RationalQuadratic{LengthScale: 2},
		"2 · (ELU{} + (Angular{} · DotProduct{}))":     kernels.Scaled{K: kernels.Sum{kernels.ELU{}, kernels.Product{kernels.Angular{}, kernels.DotProduct{}}}, By: 2},
	} {
		assert.Equal(t, want, fmt.Sprint(k))
	}
}
