package planerot

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// testZero puts one value at every place of slices of every length, with NaN
// around them.
func testZero[T Float](t *testing.T) {
	const longest, margin = 4*16 + 2*16 + 1, 2
	largest := math.MaxFloat64
	if simd.Size[T]() == 4 {
		largest = math.MaxFloat32
	}
	for n := range longest + 1 {
		all := make([]T, margin+n+margin)
		for _, i := range []int{0, 1, margin + n, margin + n + 1} {
			all[i] = T(math.NaN())
		}
		x := all[margin:][:n]
		for i := range x {
			x[i] = T(largest) * T(1-2*(i%2))
		}
		zero := Zero(x)
		require.Zero(t, zero, "n = %d", n)
		require.False(t, math.Signbit(float64(zero)), "n = %d", n)
		for i := range x {
			for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				old := x[i]
				x[i] = T(v)
				require.True(t, math.IsNaN(float64(Zero(x))), "n = %d: %v at %d", n, v, i)
				x[i] = old
			}
		}
	}
	assert.Zero(t, Zero[T](nil))
}

func TestZero(t *testing.T) { eachTier(t, testZero[float32], testZero[float64]) }
