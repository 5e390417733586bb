package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
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
