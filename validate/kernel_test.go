package validate_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/validate"
)

// function is a function that may be a kernel.
type function func(x, y []float64) float64

func (f function) Eval(x, y []float64) float64 { return f(x, y) }

func testKernels[T dense.Float](t *testing.T) {
	x := densetest.Gapped[T](1, 40, 4)
	for _, k := range []kernels.Kernel{
		kernels.DotProduct{}, kernels.Gaussian{}, kernels.Gaussian{LengthScale: 20}, kernels.Softmax{},
		kernels.Angular{}, kernels.ArcCosine{}, kernels.ArcCosine{Order: 1}, kernels.ArcCosine{Order: 2},
		kernels.Polynomial{Degree: 2}, kernels.Polynomial{Degree: 3, Offset: 1}, kernels.Laplacian{},
		kernels.Matern{Nu: 0.5}, kernels.Matern{}, kernels.Matern{Nu: 2.5}, kernels.RationalQuadratic{}, kernels.ELU{},
		kernels.Sum{kernels.Gaussian{}, kernels.ELU{}}, kernels.Product{kernels.Angular{}, kernels.Laplacian{}},
		kernels.Scaled{K: kernels.Softmax{}, By: 7},
	} {
		c, err := validate.CheckKernel(k, x)
		require.NoError(t, err, "%v", k)
		assert.Contains(t, c.String(), "positive", "%v", k)
	}
	c := must.Have(validate.CheckKernel(kernels.DotProduct{}, x))
	assert.Equal(t, validate.PositiveSemidefinite, c.Verdict)
	assert.Equal(t, 4, c.Rank)
	c = must.Have(validate.CheckKernel(kernels.Gaussian{}, x))
	assert.Equal(t, validate.PositiveDefinite, c.Verdict)
}

func TestKernelOnKernels(t *testing.T) { densetest.Both(t, testKernels[float32], testKernels[float64]) }

// TestKernelOnImpostors checks functions that are used as kernels, or resemble kernels, but are not
// positive semi-definite.
func TestKernelOnImpostors(t *testing.T) {
	square := func(x, y []float64) float64 {
		var q float64
		for i := range x {
			q += (x[i] - y[i]) * (x[i] - y[i])
		}
		return q
	}
	dot := kernels.DotProduct{}.Eval
	x := densetest.Gapped[float64](2, 30, 3)
	for name, f := range map[string]function{
		"sigmoid of negative scale": func(x, y []float64) float64 { return math.Tanh(1 - 2*dot(x, y)) },
		"distance":                  func(x, y []float64) float64 { return math.Sqrt(square(x, y)) },
		"negative distance":         func(x, y []float64) float64 { return -square(x, y) },
		"box":                       func(x, y []float64) float64 { return map[bool]float64{true: 1}[square(x, y) < 2] },
		"exp(−‖x−y‖⁴)":              func(x, y []float64) float64 { return math.Exp(-math.Pow(square(x, y), 2) / 16) },
		"absolute inner product":    func(x, y []float64) float64 { return math.Abs(dot(x, y)) },
		"exp(−xᵀy)":                 func(x, y []float64) float64 { return math.Exp(-dot(x, y)) },
	} {
		c, err := validate.CheckKernel(f, x)
		require.NoError(t, err, name)
		require.Equal(t, validate.Indefinite, c.Verdict, name)
		require.Len(t, c.Witness, 30, name)
		var form float64
		for i, v := range c.Witness {
			for j, w := range c.Witness {
				form += v * w * f(x.Row(i), x.Row(j))
			}
		}
		assert.Less(t, form, 0.0, name)
		assert.InDelta(t, c.QuadraticForm, form, c.Tolerance, name)
		assert.Contains(t, c.String(), "indefinite", name)
	}
}

// TestKernelByHand: for k(x, y) = |x − y| at 0 and 3 the Gram matrix is
// [0 3; 3 0], with eigenvalues ±3 and witness (1, −1)/√2.
func TestKernelByHand(t *testing.T) {
	c := must.Have(validate.CheckKernel(function(func(x, y []float64) float64 { return math.Abs(x[0] - y[0]) }), dense.Of(2, 1, []float32{0, 3})))
	assert.InDelta(t, -3, c.QuadraticForm, 1e-14)
	assert.InDelta(t, -0.5, c.Witness[0]*c.Witness[1], 1e-15)
}

func TestKernelNotSymmetric(t *testing.T) {
	x := dense.Of(3, 1, []float64{1, 2, 4})
	_, err := validate.CheckKernel(function(func(x, y []float64) float64 { return x[0] * y[0] * y[0] }), x)
	assert.EqualError(t, err, "validate: not a kernel: k(x1, x2) = 32 but k(x2, x1) = 16")

	// Rounding does not count as asymmetry: 9·2⁻⁵²·16 is allowed, and not more.
	product := func(wrong float64) error {
		return must.Err(validate.CheckKernel(function(func(x, y []float64) float64 {
			if x[0] == 1 && y[0] == 2 {
				return 2 + wrong
			}
			return x[0] * y[0]
		}), x))
	}
	assert.NoError(t, product(9*0x1p-52*16))
	assert.Error(t, product(10*0x1p-52*16))
}

func TestKernelNotFinite(t *testing.T) {
	log := function(func(x, y []float64) float64 { return math.Log(x[0] * y[0]) })
	_, err := validate.CheckKernel(log, dense.Of(3, 1, []float64{1, 2, -1}))
	assert.EqualError(t, err, "validate: not a kernel: k(x0, x2) = NaN")
	_, err = validate.CheckKernel(kernels.Softmax{}, dense.Of(2, 1, []float32{1, 50}))
	assert.EqualError(t, err, "validate: not a kernel: k(x1, x1) = +Inf")
}

func TestKernelErrors(t *testing.T) {
	_, err := validate.CheckKernel(nil, dense.New[float64](1, 1))
	assert.EqualError(t, err, "validate: k is nil")
	_, err = validate.CheckKernel(kernels.DotProduct{}, dense.New[float64](0, 4))
	assert.EqualError(t, err, "validate: x has no rows, want at least 1 point")
	_, err = validate.CheckKernel(kernels.Softmax{Gamma: -1}, dense.New[float64](1, 1))
	assert.EqualError(t, err, "kernels: Softmax.Gamma = -1, want a positive finite number, or 0 for 1")
	_, err = validate.CheckKernel(kernels.DotProduct{}, dense.New[float32](1<<22, 1))
	assert.ErrorContains(t, err, "validate: x is 4194304×1, for 4194304×4194304 values of k: 128 TiB of memory, want at most ")
}
