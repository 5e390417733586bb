package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

func TestNewKnowsNoDerivatives(t *testing.T) {
	w, err := orf.Draw[float64](orf.IID{}, 4, 2, exprand.NewSource(1))
	require.NoError(t, err)
	const unknown = "rff: a map made by New has no derivatives until WithDerivatives gives them"
	same, one := func(t float64) float64 { return t }, func(float64) float64 { return 1 }
	f := rff.New(w, nil, same)
	assert.EqualError(t, f.CanBackward(), unknown)
	assert.PanicsWithValue(t, unknown, func() {
		f.Backward(dense.Matrix[float64]{}, dense.New[float64](1, 2), dense.New[float64](1, 4))
	})
	g := f.WithDerivatives(nil, one).Estimating(kernels.DotProduct{})
	assert.NoError(t, g.CanBackward())
	assert.Error(t, f.CanBackward(), "WithDerivatives changes a copy")
	assert.Equal(t, kernels.DotProduct{}, g.Kernel())

	dot, err := rff.DotProduct(w)
	require.NoError(t, err)
	x, dphi := points[float64](1, 5, 2, 1), points[float64](2, 5, 4, 1)
	want := dot.Backward(dense.Matrix[float64]{}, x, dphi)
	for i, v := range g.Backward(dense.Matrix[float64]{}, x, dphi).Data {
		assert.InDelta(t, want.Data[i], v, 1e-14)
	}
}

func TestWithDerivativesPanics(t *testing.T) {
	w, err := orf.Draw[float64](orf.IID{}, 4, 2, exprand.NewSource(1))
	require.NoError(t, err)
	f := func(t float64) float64 { return t }
	h, dh := func([]float64) float64 { return 1 }, func(dst, _ []float64) { clear(dst) }
	assert.PanicsWithValue(t, "rff: dh is nil, want the gradient of h", func() { rff.New(w, h, f).WithDerivatives(nil, f) })
	assert.PanicsWithValue(t, "rff: dh is given for a nil h", func() { rff.New(w, nil, f).WithDerivatives(dh, f) })
	assert.PanicsWithValue(t, "rff: 1 derivatives df, want 2", func() { rff.New(w, nil, f, f).WithDerivatives(nil, f) })
	assert.PanicsWithValue(t, "rff: df[1] is nil", func() { rff.New(w, nil, f, f).WithDerivatives(nil, f, nil) })
	dot, err := rff.DotProduct(w)
	require.NoError(t, err)
	assert.PanicsWithValue(t, "rff: DotProduct(): R^2 → R^4 was not made by New and has its derivatives", func() { dot.WithDerivatives(nil, f) })
}

// At x = 0 every ramp has its kink and the derivative counts as ½; flat maps have
// none to learn from; elu has the slope 1 on both sides.
func TestSubgradients(t *testing.T) {
	const m, d = 6, 3
	w, err := orf.Draw[float64](orf.IID{}, m, d, exprand.NewSource(1))
	require.NoError(t, err)
	origin, g := dense.New[float64](1, d), points[float64](2, 1, m, 1)
	ramp, err := rff.ArcCosine(w, 1)
	require.NoError(t, err)
	dot, err := rff.DotProduct(w)
	require.NoError(t, err)
	whole := dot.Backward(dense.Matrix[float64]{}, origin, g)
	for j, v := range ramp.Backward(dense.Matrix[float64]{}, origin, g).Row(0) {
		assert.InDelta(t, whole.At(0, j)*math.Sqrt2/2, v, 1e-15)
	}
	angular, err := rff.Angular(w)
	require.NoError(t, err)
	step, err := rff.ArcCosine(w, 0)
	require.NoError(t, err)
	x := points[float64](3, 1, d, 1)
	for _, f := range []rff.Differentiable[float64]{angular, step} {
		assert.Equal(t, []float64{0, 0, 0}, f.Backward(dense.Matrix[float64]{}, x, g).Row(0))
	}
	elu, err := rff.ELU[float64](d)
	require.NoError(t, err)
	g = g.ColRange(0, d)
	assert.Equal(t, g.Row(0), elu.Backward(dense.Matrix[float64]{}, origin, g).Row(0))
	assert.Equal(t, g.Row(0), elu.LogBackward(dense.Matrix[float64]{}, origin, g).Row(0))
}

// TestLogBackwardOfLargeNorms: where every feature of float32 is 0, and with it
// the gradient through Transform, that through the logarithms is good.
func TestLogBackwardOfLargeNorms(t *testing.T) {
	const m, d = 32, 6
	w, err := orf.Draw[float32](orf.IID{}, m, d, exprand.NewSource(3))
	require.NoError(t, err)
	f, err := rff.SoftmaxPositive(w, 1)
	require.NoError(t, err)
	x, g := points[float32](2, 5, d, 30), points[float32](4, 5, m, 1)
	for _, v := range f.Backward(dense.Matrix[float32]{}, x, g).Data {
		assert.Zero(t, v)
	}
	frequencies := w.Frequencies()
	dx := f.LogBackward(dense.Matrix[float32]{}, x, g)
	for i := range x.Rows {
		for j := range d {
			var want, size float64
			for k, v := range g.Row(i) {
				term := float64(v) * (float64(frequencies.At(k, j)) - float64(x.At(i, j)))
				want, size = want+term, size+math.Abs(float64(v))*(math.Abs(float64(frequencies.At(k, j)))+math.Abs(float64(x.At(i, j))))
			}
			assert.InDelta(t, want, float64(dx.At(i, j)), (m+4)*0x1p-24*size)
		}
	}
}

// Scheme returns what New was given, also of copies, and nothing of other maps.
func TestScheme(t *testing.T) {
	w := iidOf[float64](t, 3, 2)
	h := func(x []float64) float64 { return x[0] }
	own := rff.New(w, h, math.Cos, math.Sin).Estimating(kernels.Gaussian{})
	gotH, f := own.Scheme()
	require.Len(t, f, 2)
	assert.Equal(t, 7.0, gotH([]float64{7, 1}))
	assert.Equal(t, [2]float64{math.Cos(2), math.Sin(2)}, [2]float64{f[0](2), f[1](2)})
	f[0] = nil
	_, f = own.Scheme()
	assert.NotNil(t, f[0], "a copy")
	gotH, f = rff.New(w, nil, math.Cos).Scheme()
	assert.Nil(t, gotH)
	assert.Len(t, f, 1)
	named, err := rff.Gaussian(w, 1)
	require.NoError(t, err)
	gotH, f = named.Scheme()
	assert.Nil(t, gotH)
	assert.Empty(t, f)
}
