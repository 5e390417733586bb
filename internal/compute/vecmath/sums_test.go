package vecmath

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSums(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testSums[float32](t, 0x1p-24) })
	t.Run("type=float64", func(t *testing.T) { testSums[float64](t, 0x1p-53) })
}

func testSums[T Float](t *testing.T, unit float64) {
	rng := rand.New(rand.NewPCG(31, 32))
	for n := range 70 {
		x, y := make([]T, n), make([]T, n+3)
		var sum, sumSize, distance float64
		for i := range y {
			y[i] = T(rng.NormFloat64())
		}
		for i := range x {
			x[i] = T(rng.NormFloat64())
			u, v := float64(x[i]), float64(y[i])
			sum, sumSize = sum+u, sumSize+math.Abs(u)
			distance += (u - v) * (u - v)
		}
		assert.InDelta(t, sum, float64(Sum(x)), float64(n+1)*unit*sumSize, "n = %d", n)
		assert.InDelta(t, distance, SquaredDistance(x, y), float64(n+1)*0x1p-53*distance, "n = %d", n)
		for i := range x {
			kept := x[i]
			x[i] = T(math.NaN())
			assert.True(t, Sum(x) != Sum(x) && Dot(x, y) != Dot(x, y), "NaN at %d of %d", i, n)
			x[i] = kept
		}
	}
	assert.Panics(t, func() { Dot(make([]T, 3), make([]T, 2)) })
	assert.Panics(t, func() { SquaredDistance(make([]T, 3), make([]T, 2)) })
	assert.Equal(t, unit, Roundoff[T]())
}
