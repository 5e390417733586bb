package rff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

func TestBadArguments(t *testing.T) {
	densetest.Both(t, testBadArguments[float32], testBadArguments[float64])
}

func testBadArguments[T dense.Float](t *testing.T) {
	src := func() rand.Source { return exprand.NewSource(1) }
	w := must.Have(orf.Draw[T](orf.IID{}, 4, 2, src()))
	fails := func(want string, _ any, err error) {
		t.Helper()
		assert.EqualError(t, err, "rff: "+want)
	}
	check := func(want string) func(_ any, err error) {
		return func(f any, err error) { t.Helper(); fails(want, f, err) }
	}

	var none orf.Projection[T]
	lengths := func(v float64) []rff.Spec {
		return []rff.Spec{
			rff.Gaussian{LengthScale: v},
			rff.GaussianHyperbolic{LengthScale: v}, rff.GaussianOptimal{LengthScale: v, A: -1}, rff.Matern{Nu: 1.5, LengthScale: v, Src: src()},
		}
	}
	scales := func(v float64) []rff.Spec {
		return []rff.Spec{
			rff.SoftmaxTrig{Scale: v}, rff.SoftmaxPositive{Scale: v}, rff.SoftmaxHyperbolic{Scale: v}, rff.SoftmaxOptimal{Scale: v, A: -1},
			rff.SDERF{Scale: v, Damping: []float64{0, 0}, Basis: dense.Of(2, 2, []float64{1, 0, 0, 1})},
			rff.SADERF{Scale: v, Psi: []float64{1, 2}},
			rff.ADERF{Scale: v, Query: dense.Of(2, 2, []float64{1, 0, 0, 1}), Key: dense.Of(2, 2, []float64{1, 0, 0, 1})},
		}
	}
	for _, s := range append(append(lengths(1), scales(1)...), rff.DotProduct{}, rff.Angular{}, rff.ArcCosine{}, rff.Laplacian{LengthScale: 1}) {
		check("w is nil, want a projection")(rff.Draw(s, none))
		check("w is 0×2, want at least 1×1")(rff.Draw[T](s, empty[T]{}))
	}
	heavy := must.Have(orf.Draw[T](orf.Cauchy{}, 4, 2, src()))
	for text, v := range map[string]float64{"0": 0, "-1": -1, "NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1)} {
		for _, s := range lengths(v) {
			check("lengthScale = " + text + ", want a positive finite number")(rff.Draw(s, w))
		}
		check("lengthScale = " + text + ", want a positive finite number")(rff.Draw(rff.Laplacian{LengthScale: v}, heavy))
		for _, s := range scales(v) {
			check("scale = " + text + ", want a positive finite number")(rff.Draw(s, w))
		}
		check("scale = " + text + ", want a positive finite number")(rff.Draw[T](rff.Taylor{D: 2, Scale: v}, nil))
	}
	for want, s := range map[string]rff.Spec{
		"a = 0.125, want a number below 1/8":                 rff.GaussianOptimal{LengthScale: 1, A: 0.125},
		"a = 0.25, want a number below 1/8":                  rff.SDERF{Scale: 1, Damping: []float64{0, 0.25}, Basis: dense.Of(2, 2, []float64{1, 0, 0, 1})},
		"nu = 2, want 0.5, 1.5 or 2.5":                       rff.Matern{Nu: 2, LengthScale: 1, Src: src()},
		"Src is nil, want a source for gains":                rff.Matern{Nu: 0.5, LengthScale: 1},
		"0 gains, want 4":                                    rff.Matern{Nu: 0.5, LengthScale: 1, Gains: []float64{}, Src: src()},
		"gains[1] = +Inf, want a finite number":              rff.Matern{Nu: 0.5, LengthScale: 1, Gains: []float64{1, math.Inf(1), 1, 1}},
		"1 psi, want 2":                                      rff.SADERF{Scale: 1, Psi: []float64{1}},
		"query is 0×0, want 2×2":                             rff.ADERF{Scale: 1},
		"0 damping, want 2":                                  rff.SDERF{Scale: 1},
		"basis is 0×0, want 2×2":                             rff.SDERF{Scale: 1, Damping: []float64{0, 0}},
		"s is <nil>, want a Spec of this package":            nil,
		"s is *rff.Gaussian, want a Spec of this package":    &rff.Gaussian{LengthScale: 1},
		"s is rff_test.ownSpec, want a Spec of this package": ownSpec{rff.Gaussian{LengthScale: 1}},
		"w is given, and ELU() has no frequencies, want nil": rff.ELU{D: 2},
		"w has the frequencies of orf.IID, which are not those of Laplacian(lengthScale=1)": rff.Laplacian{LengthScale: 1},
	} {
		check(want)(rff.Draw(s, w))
	}
	check("w has the frequencies of orf.Cauchy, which are not those of Angular()")(rff.Draw(rff.Angular{}, heavy))
	_, err := rff.Draw(rff.Laplacian{LengthScale: 1}, must.Have(orf.FromMatrix(heavy.Frequencies())))
	assert.NoError(t, err, "frequencies of unknown law")
	for want, s := range map[string]rff.Spec{
		"Src is nil, want a source for places": rff.Boxes{K: boxKernel(2, 3), Features: 4},
		"features = 3, want at least 4":        rff.Boxes{K: boxKernel(2, 3), Features: 3, Src: src()},
		"2 places, want 6":                     rff.Boxes{K: boxKernel(2, 3), Features: 4, Places: []int{0, 1}},
		"places[1] = 6, want 0 to 5":           rff.Boxes{K: boxKernel(2, 3), Features: 4, Places: []int{0, 6, 0, 0, 0, 0}},
		"d = 0, want at least 1":               rff.Identity{},
		"d = -1, want at least 1":              rff.ELU{D: -1},
		"d = -2, want at least 1":              rff.Quadratic{D: -2},
		"d = -3, want at least 1":              rff.Taylor{D: -3, Scale: 1},
	} {
		check(want)(rff.Draw[T](s, nil))
	}
}

// ownSpec is a Spec of another package.
type ownSpec struct{ rff.Spec }

func TestParametersOutsideTheRangeOfFloat32(t *testing.T) {
	w := must.Have(orf.Draw[float32](orf.IID{}, 4, 2, exprand.NewSource(1)))
	_, err := rff.Draw(rff.Gaussian{LengthScale: 1e-45}, w)
	assert.EqualError(t, err, "rff: lengthScale = 1e-45 is outside the range of float32")
	_, err = rff.Draw(rff.SoftmaxPositive{Scale: 1e300}, w)
	assert.EqualError(t, err, "rff: scale = 1e+300 is outside the range of float32")
}

func TestNewErrors(t *testing.T) {
	w := must.Have(orf.Draw[float64](orf.IID{}, 4, 2, exprand.NewSource(1)))
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
		f, err := rff.New(c.s, w)
		assert.EqualError(t, err, c.want)
		assert.Nil(t, f)
	}
	_, err := rff.New(rff.Scheme[float64]{F: functions{same}}, nil)
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
