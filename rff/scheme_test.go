package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

func TestNewHasNoDerivatives(t *testing.T) {
	w := must.Have(orf.Draw[float64](orf.IID{}, 4, 2, exprand.NewSource(1)))
	const unknown = "rff: a map made by New has no derivatives"
	f := slopes(newMap(w, nil, math.Abs))
	assert.EqualError(t, f.CanBackward(), unknown)
	assert.PanicsWithValue(t, unknown, func() {
		f.Backward(dense.Matrix[float64]{}, dense.New[float64](1, 2), dense.New[float64](1, 4))
	})
}

// At x = 0 every ramp has its kink and the derivative counts as ½; flat maps have
// none to learn from; elu has the slope 1 on both sides.
func TestSubgradients(t *testing.T) {
	const m, d = 6, 3
	w := must.Have(orf.Draw[float64](orf.IID{}, m, d, exprand.NewSource(1)))
	origin, g := dense.New[float64](1, d), points[float64](2, 1, m, 1)
	ramp := must.Have(rff.Draw(rff.ArcCosine{}, w))
	dot := must.Have(rff.Draw(rff.DotProduct{}, w))
	whole := slopes(dot).Backward(dense.Matrix[float64]{}, origin, g)
	for j, v := range slopes(ramp).Backward(dense.Matrix[float64]{}, origin, g).Row(0) {
		assert.InDelta(t, whole.At(0, j)*math.Sqrt2/2, v, 1e-15)
	}
	angular := must.Have(rff.Draw(rff.Angular{}, w))
	x := points[float64](3, 1, d, 1)
	assert.Equal(t, []float64{0, 0, 0}, slopes(angular).Backward(dense.Matrix[float64]{}, x, g).Row(0))
	elu := must.Have(rff.Draw[float64](rff.ELU{D: d}, nil))
	g = g.ColRange(0, d)
	assert.Equal(t, g.Row(0), logSlopes(elu).Backward(dense.Matrix[float64]{}, origin, g).Row(0))
	assert.Equal(t, g.Row(0), logSlopes(elu).LogBackward(dense.Matrix[float64]{}, origin, g).Row(0))
}

// TestLogBackwardOfLargeNorms: where every feature of float32 is 0, and with it
// the gradient through Transform, that through the logarithms is good.
func TestLogBackwardOfLargeNorms(t *testing.T) {
	const m, d = 32, 6
	w := must.Have(orf.Draw[float32](orf.IID{}, m, d, exprand.NewSource(3)))
	positive := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
	f := logSlopes(positive)
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
