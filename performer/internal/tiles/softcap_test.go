package tiles

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// softcap is c·tanh(x/c) to some units in the last place, on both sides of where its formulas meet.
func TestSoftcap(t *testing.T) {
	t.Run("float32", testSoftcap[float32])
	t.Run("float64", testSoftcap[float64])
}

func testSoftcap[T dense.Float](t *testing.T) {
	for _, c := range []T{1, 0.5, 3, 50, -2} {
		var x []T
		for y := -12.0; y <= 12; y += 1.0 / 64 {
			x = append(x, T(y)*c)
		}
		for e := -60; e < 60; e += 3 {
			x = append(x, T(math.Ldexp(1.3, e)), T(math.Ldexp(-1.3, e)))
		}
		x = append(x, 0.4*c, 0.401*c, 0.3999*c)
		got := append([]T{}, x...)
		softcap(got, c, make([]T, len(x)))
		for i, v := range x {
			want := float64(c) * math.Tanh(float64(v)/float64(c))
			// Each formula rounds at most eight times where no difference cancels; 1 − e, of e
			// below 0.45, loses less than one bit.
			assert.InDelta(t, want, float64(got[i]), 8*densetest.Roundoff[T]()*math.Abs(want), "c = %v, x = %v", c, v)
		}
	}
	x := []T{T(math.Inf(1)), T(math.Inf(-1)), T(math.NaN()), 0}
	softcap(x, 2, make([]T, 4))
	assert.Equal(t, []T{2, -2}, x[:2])
	assert.True(t, x[2] != x[2])
	assert.Zero(t, x[3])

	tiny := []T{-300, 0, 2}
	softcap(tiny, capIn[T](-1e-60), make([]T, 3))
	assert.InDeltaSlice(t, []T{0, 0, 0}, tiny, 1e-40)

	limit := []T{-300, 0.1, T(math.Inf(1))}
	got := append([]T{}, limit...)
	softcap(got, T(math.Inf(1)), make([]T, 3))
	assert.Equal(t, limit, got)
}
