package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// The choice for a single pair is the minimum of the exact law.
func TestOptimalAMinimisesTheLaw(t *testing.T) {
	for _, size := range []float64{0.01, 0.3, 1, 2} {
		x := dense.Of(1, 4, []float64{0.5 * size, -size, 0.2 * size, 0})
		y := dense.Of(1, 4, []float64{0.1 * size, -size, 0.4 * size, 0.3 * size})
		a := must.Have(rff.OptimalA(x, y, 1))
		assert.Less(t, a, 0.0)
		mse := func(a float64) float64 { return mse.Optimal(a).IID.Softmax(x.Row(0), y.Row(0), 1) }
		step := -0.05 * a
		assert.Less(t, mse(a), mse(a+step), "size %v", size)
		assert.Less(t, mse(a), mse(a-step), "size %v", size)
		assert.Less(t, mse(a), mse(0), "size %v", size)
	}
}

// Over several points φ is the mean of s·‖x+y‖²/d over all pairs, and the formula
// agrees with the one of the source on both sides of where it is rewritten.
func TestOptimalAOverPairs(t *testing.T) {
	for _, scale := range []float64{0.1, 1, 4} {
		x, y := points[float64](1, 5, 3, 1), points[float64](2, 7, 3, 1)
		mean := 0.0
		for i := range 5 {
			for j := range 7 {
				for k, v := range x.Row(i) {
					mean += (v + y.At(j, k)) * (v + y.At(j, k)) / 35
				}
			}
		}
		phi := scale * mean / 3
		a := must.Have(rff.OptimalA(x, y, scale))
		assert.InDelta(t, (1-2*phi-math.Sqrt((2*phi+1)*(2*phi+1)+8*phi))/16, a, 1e-14, "φ = %v", phi)
	}
}

func TestSoftmaxOptimalErrors(t *testing.T) {
	w := must.Have(orf.Draw[float32](orf.IID{}, 3, 2, exprand.NewSource(1)))
	for _, c := range []struct {
		scale, a float64
		want     string
	}{
		{1, 0.125, "rff: a = 0.125, want a number below 1/8"},
		{1, math.NaN(), "rff: a = NaN, want a number below 1/8"},
		{1, math.Inf(-1), "rff: a = -Inf, want a number below 1/8"},
		{0, -1, "rff: scale = 0, want a positive finite number"},
		{1, -1e300, "rff: a = -1e+300 is outside the range of float32"},
	} {
		_, err := rff.Draw(rff.SoftmaxOptimal{Scale: c.scale, A: c.a}, w)
		assert.EqualError(t, err, c.want)
	}
	_, err := rff.Draw[float32](rff.SoftmaxOptimal{Scale: 1, A: 0}, nil)
	assert.EqualError(t, err, "rff: w is nil, want a projection")
	one := dense.New[float64](1, 2)
	_, err = rff.OptimalA(one, dense.New[float64](1, 3), 1)
	assert.EqualError(t, err, "rff: x is 1×2, y is 1×3, want points of one dimension")
	_, err = rff.OptimalA(one, one, -1)
	assert.EqualError(t, err, "rff: scale = -1, want a positive finite number")
	one.Set(0, 0, math.NaN())
	_, err = rff.OptimalA(one, one, 1)
	assert.ErrorContains(t, err, "want a finite number")
}

// a falls as −φ/4 for large φ, as far as φ is a number.
func TestOptimalAOfLargeNorms(t *testing.T) {
	for _, norm := range []float64{1e70, 1e100, 1e153} {
		x := dense.Of(1, 1, []float64{norm})
		a := must.Have(rff.OptimalA(x, x, 1))
		assert.InEpsilon(t, -norm*norm, a, 1e-12)
	}
}
