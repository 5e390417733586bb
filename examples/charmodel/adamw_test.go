package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
)

// TestAdamW follows the formulas for three steps, the second of which is clipped.
func TestAdamW(t *testing.T) {
	decaying := &parameter[float64]{value: dense.Of(1, 2, []float64{1, -2}), gradient: dense.New[float64](1, 2), decays: true}
	free := &parameter[float64]{value: dense.Of(1, 1, []float64{3}), gradient: dense.New[float64](1, 1)}
	a := newAdamW([]*parameter[float64]{decaying, free})
	want := []float64{1, -2, 3}
	var m, v [3]float64
	for step, g := range [][]float64{{0.1, -0.2, 0.3}, {3, 4, 12}, {0, 0.5, -0.1}} {
		copy(decaying.gradient.Data, g[:2])
		free.gradient.Data[0] = g[2]
		rate := 0.01 * float64(step+1)
		a.step(rate)
		for i, x := range g {
			if step == 1 {
				x /= 13
			}
			m[i] = 0.9*m[i] + 0.1*x
			v[i] = 0.99*v[i] + 0.01*x*x
			along := m[i] / (1 - math.Pow(0.9, float64(step+1))) / (math.Sqrt(v[i]/(1-math.Pow(0.99, float64(step+1)))) + 1e-8)
			if i < 2 {
				along += 0.1 * want[i]
			}
			want[i] -= rate * along
		}
		assert.InDeltaSlice(t, want[:2], decaying.value.Data, 1e-14, "step %d", step)
		assert.InDeltaSlice(t, want[2:], free.value.Data, 1e-14, "step %d", step)
	}
}
