package vecmath

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Pick has the bits of the reference for every number of elements, with special numbers among them,
// and writes nothing else.
func TestPick(t *testing.T) {
	t.Run("type=float32", testPick[float32])
	t.Run("type=float64", testPick[float64])
}

func testPick[T Float](t *testing.T) {
	everyTier(t, "", func(t *testing.T) {
		r := rand.New(rand.NewPCG(41, 0))
		for n := range 4*16 + 2 {
			for _, from := range []int{1, 5, 300} {
				x, a, at := mixed[T](r, from), normals[T](n), make([]int32, n)
				for k := range at {
					at[k] = int32(r.IntN(from))
				}
				want := make([]T, n)
				for k, i := range at {
					want[k] = a[k] * x[i]
				}
				dst, check := guarded(make([]T, n))
				Pick(dst, x, at, a)
				equalBits(t, want, dst, "picked")
				check(t)
			}
		}
	})
}

func TestPickPanics(t *testing.T) {
	x := make([]float32, 4)
	assert.Panics(t, func() { Pick(x, x, make([]int32, 3), x) }, "at is short")
	assert.Panics(t, func() { Pick(x, x, make([]int32, 4), x[:3:3]) }, "a is short")
}
