package rff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

func TestBadArguments(t *testing.T) {
	densetest.Both(t, testBadArguments[float32], testBadArguments[float64])
}

func testBadArguments[T dense.Float](t *testing.T) {
	src := func() rand.Source { return exprand.NewSource(1) }
	w, err := orf.Draw[T](orf.IID{}, 4, 2, src())
	require.NoError(t, err)
	fails := func(want string, _ any, err error) {
		t.Helper()
		assert.EqualError(t, err, "rff: "+want)
	}
	check := func(want string) func(_ any, err error) {
		return func(f any, err error) { t.Helper(); fails(want, f, err) }
	}

	const noProjection = "w is nil, want a projection"
	var none orf.Projection[T]
	check(noProjection)(rff.DotProduct(none))
	check(noProjection)(rff.Gaussian(none, 1))
	check(noProjection)(rff.GaussianPhase(none, 1, src()))
	check(noProjection)(rff.Matern(none, 0.5, 1, src()))
	check(noProjection)(rff.SoftmaxTrig(none, 1))
	check(noProjection)(rff.SoftmaxPositive(none, 1))
	check(noProjection)(rff.SoftmaxHyperbolic(none, 1))
	check(noProjection)(rff.GaussianPositive(none, 1))
	check(noProjection)(rff.GaussianHyperbolic(none, 1))
	check(noProjection)(rff.GaussianOptimal(none, 1, -1))
	check(noProjection)(rff.Angular(none))
	check(noProjection)(rff.ArcCosine(none, 1))
	check("w is 0×2, want at least 1×1")(rff.Angular[T](empty[T]{}))

	for text, v := range map[string]float64{"0": 0, "-1": -1, "NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1)} {
		bad := "lengthScale = " + text + ", want a positive finite number"
		check(bad)(rff.Gaussian(w, v))
		check(bad)(rff.GaussianPhase(w, v, src()))
		check(bad)(rff.GaussianPositive(w, v))
		check(bad)(rff.GaussianHyperbolic(w, v))
		check(bad)(rff.GaussianOptimal(w, v, -1))
		check(bad)(rff.Laplacian[T](3, 2, v, src()))
		check(bad)(rff.Matern(w, 1.5, v, src()))
		bad = "scale = " + text + ", want a positive finite number"
		check(bad)(rff.SoftmaxTrig(w, v))
		check(bad)(rff.SoftmaxPositive(w, v))
		check(bad)(rff.SoftmaxHyperbolic(w, v))
		check(bad)(rff.Taylor[T](2, v))
	}
	check("a = 0.125, want a number below 1/8")(rff.GaussianOptimal(w, 1, 0.125))
	check("nu = 2, want 0.5, 1.5 or 2.5")(rff.Matern(w, 2, 1, src()))
	check("order = 3, want 0, 1 or 2")(rff.ArcCosine(w, 3))
	check("order = -1, want 0, 1 or 2")(rff.ArcCosine(w, -1))

	check("src is nil")(rff.GaussianPhase(w, 1, nil))
	check("src is nil")(rff.Laplacian[T](3, 2, 1, nil))
	check("src is nil")(rff.Matern(w, 0.5, 1, nil))

	check("src is nil")(rff.Boxes[T](boxKernel(2, 3), 4, nil))
	check("features = 3, want at least 4")(rff.Boxes[T](boxKernel(2, 3), 3, src()))

	check("m = 0, want at least 1")(rff.Laplacian[T](0, 2, 1, src()))
	check("d = 0, want at least 1")(rff.Laplacian[T](3, 0, 1, src()))
	check("d = 0, want at least 1")(rff.Identity[T](0))
	check("d = -1, want at least 1")(rff.ELU[T](-1))
	check("d = 0, want at least 1")(rff.Quadratic[T](0))
	check("d = 0, want at least 1")(rff.Taylor[T](0, 1))
}

func TestParametersOutsideTheRangeOfFloat32(t *testing.T) {
	w, err := orf.Draw[float32](orf.IID{}, 4, 2, exprand.NewSource(1))
	require.NoError(t, err)
	_, err = rff.Gaussian(w, 1e-45)
	assert.EqualError(t, err, "rff: lengthScale = 1e-45 is outside the range of float32")
	_, err = rff.SoftmaxPositive(w, 1e300)
	assert.EqualError(t, err, "rff: scale = 1e+300 is outside the range of float32")
}

func TestNewErrors(t *testing.T) {
	w, err := orf.Draw[float64](orf.IID{}, 4, 2, exprand.NewSource(1))
	require.NoError(t, err)
	same := func(t float64) float64 { return t }
	type functions = []func(t float64) float64
	h, dh := func([]float64) float64 { return 1 }, func(dst, _ []float64) { clear(dst) }
	for _, c := range []struct {
		s    rff.Scheme[float64]
		want string
	}{
		{rff.Scheme[float64]{}, "rff: Scheme.F is empty, want at least one function"},
		{rff.Scheme[float64]{F: functions{same, nil}}, "rff: Scheme.F[1] is nil"},
		{rff.Scheme[float64]{F: functions{same}, DF: functions{same}, H: h}, "rff: Scheme.DH is nil, want the gradient of H"},
		{rff.Scheme[float64]{F: functions{same}, DF: functions{same}, DH: dh}, "rff: Scheme.DH is given for a nil H"},
		{rff.Scheme[float64]{F: functions{same}, H: h, DH: dh}, "rff: Scheme.DH is given without DF"},
		{rff.Scheme[float64]{F: functions{same, same}, DF: functions{same}}, "rff: 1 derivatives Scheme.DF, want 2"},
		{rff.Scheme[float64]{F: functions{same, same}, DF: functions{same, nil}}, "rff: Scheme.DF[1] is nil"},
	} {
		f, err := rff.New(w, c.s)
		assert.EqualError(t, err, c.want)
		assert.Nil(t, f)
	}
	_, err = rff.New(nil, rff.Scheme[float64]{F: functions{same}})
	assert.EqualError(t, err, "rff: w is nil, want a projection")
}

func TestBadKernelsAndPoints(t *testing.T) {
	densetest.Both(t, testBadKernelsAndPoints[float32], testBadKernelsAndPoints[float64])
}

func testBadKernelsAndPoints[T dense.Float](t *testing.T) {
	x := dense.Of(3, 1, []T{0, 1, 2})
	_, err := rff.Nystroem[T](nil, x)
	assert.EqualError(t, err, "rff: k is nil, want a kernel")
	_, err = rff.Nystroem(kernels.Gaussian{LengthScale: -1}, x)
	assert.ErrorContains(t, err, "Gaussian.LengthScale = -1")
	_, err = rff.Nystroem(kernels.Gaussian{}, dense.Matrix[T]{})
	assert.EqualError(t, err, "rff: landmarks is 0×0, want at least 1×1")
	_, err = rff.Nystroem[T](distance{}, x)
	assert.ErrorContains(t, err, "not positive semi-definite: the residual of elements")
	_, err = rff.Spectral(kernels.Gaussian{}, dense.Of(2, 1, []T{0, T(math.NaN())}), 1)
	assert.EqualError(t, err, "rff: k(x[1], x[0]) = NaN, want a finite number")
	_, err = rff.Spectral(kernels.Gaussian{}, x, 0)
	assert.EqualError(t, err, "rff: rank = 0, want at least 1")
	_, err = rff.Spectral(kernels.DotProduct{}, x, 2)
	assert.EqualError(t, err, "rff: rank = 2 is more than the numerical rank 1 of the 3×3 Gram matrix of x")
	_, err = rff.Spectral[T](distance{}, x, 1)
	assert.ErrorContains(t, err, "not positive semi-definite")
}

// empty is a projection that breaks its contract.
type empty[T dense.Float] struct{ orf.Projection[T] }

func (empty[T]) Shape() (m, d int) { return 0, 2 }

// distance is |x−y| on the line, which is no kernel.
type distance struct{}

func (distance) Eval(x, y []float64) float64 { return math.Abs(x[0] - y[0]) }
