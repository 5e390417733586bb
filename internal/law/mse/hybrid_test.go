package mse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
)

// mean returns E[f(g)] of a normal variable.
func mean(f func(g float64) float64) float64 {
	return quad.Fixed(func(g float64) float64 { return f(g) * distuv.UnitNormal.Prob(g) }, -12, 12, 120, quad.Legendre{}, 0)
}

// The number of gates that separate x from y is binomial; given it, the error is that of a
// fixed mixture. The parts are functions of two normal variables, wᵀx and wᵀy.
func TestHybridByEnumeration(t *testing.T) {
	x, y := pointX, pointY
	xx, yy, s := floats.Dot(x, x), floats.Dot(y, y), floats.Dot(x, y)
	size := math.Exp((xx + yy) / 2)
	first := func(a, b float64) float64 { return math.Cosh(a+b) / size }
	second := func(a, b float64) float64 { return math.Cos(a-b) * size }
	moment := func(f func(a, b float64) float64) float64 {
		return mean(func(g float64) float64 {
			a := math.Sqrt(xx) * g
			return mean(func(h float64) float64 { return f(a, s/xx*a+math.Sqrt(yy-s*s/xx)*h) })
		})
	}
	truth := math.Exp(s)
	covariance := func(f, g func(a, b float64) float64) float64 {
		return moment(func(a, b float64) float64 { return (f(a, b) - truth) * (g(a, b) - truth) })
	}
	v1, v2, c := covariance(first, first), covariance(second, second), covariance(first, second)
	assert.InEpsilon(t, Hyperbolic.IID.Softmax(x, y, 1), v1, 1e-9)
	assert.InEpsilon(t, Trig.IID.Softmax(x, y, 1), v2, 1e-9)
	u := angle(x, y) / math.Pi
	for n := 1; n <= 4; n++ {
		var want float64
		for k := 0; k <= n; k++ {
			p := float64(combin.Binomial(n, k)) * math.Pow(u, float64(k)) * math.Pow(1-u, float64(n-k))
			lambda := float64(k) / float64(n)
			want += p * (lambda*lambda*v1 + (1-lambda)*(1-lambda)*v2 + 2*lambda*(1-lambda)*c)
		}
		assert.InEpsilon(t, want, Hybrid(n).IID.Softmax(x, y, 1), 1e-9, "n = %d", n)
		assert.InEpsilon(t, want/7, Hybrid(n).IID.Softmax(x, y, 7), 1e-9, "n = %d", n)
	}
	assert.PanicsWithValue(t, "mse: n = 0, want at least 1", func() { Hybrid(0) })
	// λ = ½ at the zero vector, where S = 1.
	zero := make([]float64, len(y))
	half := func(b float64) float64 {
		return (math.Cosh(b)*math.Exp(-yy/2) + math.Cos(b)*math.Exp(yy/2)) / 2
	}
	want := mean(func(g float64) float64 { return math.Pow(half(math.Sqrt(yy)*g)-1, 2) })
	assert.InEpsilon(t, want, Hybrid(2).IID.Softmax(zero, y, 1), 1e-9)
}

// A term is a product over the axes, and so are its moments.
func TestDampedByQuadrature(t *testing.T) {
	sin, cos := math.Sincos(0.4)
	basis := dense.Of(2, 2, []float64{cos, -sin, sin, cos})
	damping := []float64{-0.4, 0.05}
	x, y := []float64{0.5, -0.3}, []float64{0.2, 0.6}
	radius := math.Exp(-(floats.Dot(x, x) + floats.Dot(y, y)) / 2)
	first, second := radius, radius*radius
	for l, a := range damping {
		v := basis.At(0, l)*(x[0]+y[0]) + basis.At(1, l)*(x[1]+y[1])
		term := func(g float64) float64 { return math.Sqrt(1-4*a) * math.Exp(2*a*g*g+math.Sqrt(1-4*a)*g*v) }
		first *= mean(term)
		second *= mean(func(g float64) float64 { return term(g) * term(g) })
	}
	assert.InEpsilon(t, math.Exp(floats.Dot(x, y)), first, 1e-9, "no bias")
	assert.InEpsilon(t, second-first*first, Damped(damping, basis).IID.Softmax(x, y, 1), 1e-9)
	assert.InEpsilon(t, Optimal(-0.2).IID.Softmax(x, y, 3), Damped([]float64{-0.2, -0.2}, basis).IID.Softmax(x, y, 3), 1e-12)
	assert.PanicsWithValue(t, "mse: a point of R^3, want one of R^2 for a matrix 2×2", func() {
		Damped(damping, basis).IID.Softmax([]float64{1, 2, 3}, []float64{1, 2, 3}, 1)
	})
}

func TestAfter(t *testing.T) {
	query, key := dense.Of(2, 2, []float64{2, 1, 0, 4}), dense.Of(2, 2, []float64{0.5, 0, -0.125, 0.25})
	x, y := []float64{0.5, -0.3}, []float64{0.2, 0.6}
	law := Positive.After(query, key).IID.Softmax
	assert.InEpsilon(t, Positive.IID.Softmax([]float64{0.7, -1.2}, []float64{0.1, 0.125}, 3), law(x, y, 3), 1e-13)
	assert.PanicsWithValue(t, "mse: a point of R^1, want one of R^2 for a matrix 2×2", func() { law(x[:1], y, 1) })
}

// The variance of exp(wᵀ(x+y) − ‖x‖² − ‖y‖²) against the Gaussian kernel, by one variable.
func TestGaussianPositiveByQuadrature(t *testing.T) {
	x, y := pointX, pointY
	sum := make([]float64, len(x))
	floats.AddTo(sum, x, y)
	r, radius := floats.Norm(sum, 2), math.Exp(-floats.Dot(x, x)-floats.Dot(y, y))
	k := math.Exp(-math.Pow(floats.Distance(x, y, 2), 2) / 2)
	variance := func(f func(g float64) float64) float64 {
		assert.InEpsilon(t, k, radius*mean(f), 1e-9, "no bias")
		return mean(func(g float64) float64 { return math.Pow(radius*f(g)-k, 2) })
	}
	assert.InEpsilon(t, variance(func(g float64) float64 { return math.Exp(r * g) }), Positive.IID.Gaussian(x, y, 1), 1e-6)
	assert.InEpsilon(t, variance(func(g float64) float64 { return math.Cosh(r * g) }), Hyperbolic.IID.Gaussian(x, y, 1), 1e-6)
}

// The Gaussian kernel is the same everywhere; its positive features have an error of
// e^(4xᵀy)/m at orthogonal points and above, however long they are.
func TestGaussianPositiveFarFromTheOrigin(t *testing.T) {
	x, y := []float64{40, 0, 0}, []float64{0, 40, 0}
	assert.InEpsilon(t, 1.0/7, Positive.IID.Gaussian(x, y, 7), 1e-12)
	assert.InEpsilon(t, 0.5/7, Hyperbolic.IID.Gaussian(x, y, 7), 1e-12)
	y[0] = -0.25
	assert.InEpsilon(t, math.Exp(-40)/7, Positive.IID.Gaussian(x, y, 7), 1e-12)
}
