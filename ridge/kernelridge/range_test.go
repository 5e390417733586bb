package kernelridge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
)

// Numbers whose squares overflow or underflow are errors that name the row, the column and the
// number, from Fit, Choose and Scales alike.
func TestRange(t *testing.T) {
	densetest.Both(t, testRange[float32], testRange[float64])
}

func testRange[T dense.Float](t *testing.T) {
	k := kernels.Gaussian{}
	all := func(b ridge.Block[T]) (errors []error) {
		_, err := kernelridge.Fit(t.Context(), k, b, kernelridge.Options{Ratio: 1, Src: rand.NewPCG(1, 2)})
		errors = append(errors, err)
		_, err = kernelridge.Choose(t.Context(), []kernels.Kernel{k}, b, rand.NewPCG(1, 2))
		errors = append(errors, err)
		_, _, err = kernelridge.Scales(t.Context(), k, b, rand.NewPCG(1, 2))
		return append(errors, err)
	}
	says := func(want string, b ridge.Block[T]) {
		for _, err := range all(b) {
			assert.EqualError(t, err, want)
		}
	}
	fresh := func() ridge.Block[T] {
		b := waves[T](40, 0, 1)
		b.Weights[2] = 0
		return b
	}
	large := fresh()
	large.Y.Set(2, 0, math.MaxFloat32) // of no weight
	wide, double, distant := T(math.MaxFloat32), densetest.Roundoff[T]() < 0x1p-50, 1e300
	if double {
		wide = T(distant)
		large.Y.Set(7, 1, -wide)
		says("kernelridge: y[7][1] = -1e+300, want at most 1e+150 in absolute value: scale the targets", large)
	} else {
		large.Y.Set(7, 1, -wide)
		says("kernelridge: y[7][1] = -3.4028234663852886e+38, want at most 1e+37 in absolute value: scale the targets", large)
	}
	// Fits of targets and weights in range are in their units, with weights of float32 that are
	// subnormal.
	b, one := fresh(), must.Have(kernelridge.Fit(t.Context(), k, fresh(), kernelridge.Options{Ratio: 1, Src: rand.NewPCG(1, 2)}))
	for i := range b.Weights {
		b.Weights[i] *= 0x1p-140
	}
	for i := range b.Y.Data {
		b.Y.Data[i] *= 0x1p-60
	}
	other := must.Have(kernelridge.Fit(t.Context(), k, b, kernelridge.Options{Ratio: 0x1p-140, Src: rand.NewPCG(1, 2)}))
	want := one.Model.Mean(dense.Matrix[T]{}, b.X)
	for i, v := range other.Model.Mean(dense.Matrix[T]{}, b.X).Data {
		assert.InDelta(t, float64(want.Data[i]), 0x1p60*float64(v), 1e-5)
	}
	b.Weights[3] = T(math.MaxFloat32)
	_, err := kernelridge.Fit(t.Context(), k, b, kernelridge.Options{Ratio: 0.1, Src: rand.NewPCG(1, 2)})
	assert.ErrorContains(t, err, "kernelridge: Options.Ratio = 0.1, and the sum of ω·k(x, x) is 3.4e+38: ")
	if !double {
		return
	}
	tiny, heavy, far := fresh(), fresh(), fresh()
	for i := range tiny.Y.Rows {
		tiny.Y.Row(i)[1] *= T(0x1p-120)
		tiny.Y.Row(i)[1] *= T(0x1p-120)
	}
	for _, err := range all(tiny) {
		assert.ErrorContains(t, err, "kernelridge: column 1 of y has absolute values up to ")
		assert.ErrorContains(t, err, "e-73, want 0 or at least 1e-70: scale the targets")
	}
	heavy.Weights[5] = T(1 / distant)
	says("kernelridge: weights[5] = 1e-300, want 0 or a number from 1e-100 to 1e+100", heavy)
	far.X.Set(17, 2, T(distant))
	for k, want := range map[kernels.Kernel]string{
		k: "kernelridge: coordinate 2 of x[17] is 1e+300 for k, want at most 3.4e+38 in absolute value: scale the rows",
		kernels.Scaled{K: kernels.Laplacian{}, By: 2}: "kernelridge: coordinate 2 of x[17] is 1e+300 for k, want at most 3.4e+38 in absolute value: scale the rows",
	} {
		_, err := kernelridge.Fit(t.Context(), k, far, kernelridge.Options{Ratio: 1, Src: rand.NewPCG(1, 2)})
		assert.EqualError(t, err, want)
	}
	image := kernels.Pullback{K: k, A: dense.Of(1, 3, []float64{0, 0, 2})}
	_, err = kernelridge.Fit(t.Context(), image, far, kernelridge.Options{Ratio: 1, Src: rand.NewPCG(1, 2)})
	assert.EqualError(t, err, "kernelridge: coordinate 0 of x[17] is 2e+300 for k, want at most 3.4e+38 in absolute value: scale the rows")
}
