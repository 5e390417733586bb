package vecmath

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Highest and Uncertain have the bits of their references for every number of columns, with special
// numbers in all slices. They write neither between rows nor around their results.
func TestClusters(t *testing.T) {
	t.Run("type=float32", testClusters[float32])
	t.Run("type=float64", testClusters[float64])
}

func testClusters[T Float](t *testing.T) {
	everyTier(t, "", func(t *testing.T) {
		r := rand.New(rand.NewPCG(43, 0))
		for n := range longest + 1 {
			for _, rows := range []int{0, 1, 2, 5} {
				stride := n + r.IntN(4)
				draw := mixed[T]
				if n%2 == 1 {
					draw = func(_ *rand.Rand, n int) []T { return normals[T](n) }
				}
				x, minus := draw(r, rows*stride), draw(r, rows)
				wantPeaks, wantAt := draw(r, n), draw(r, n)
				peaks, checkPeaks := guarded(wantPeaks)
				at, checkAt := guarded(wantAt)
				highestReference(wantPeaks, wantAt, x, stride, minus, rows)
				Highest(peaks, at, x, stride, minus, rows)
				equalBits(t, wantPeaks, peaks, "peaks")
				equalBits(t, wantAt, at, "at")
				checkPeaks(t)
				checkAt(t)
			}
			w, a, bound := normals[T](n), mixed[T](r, n), normals[T](n)
			for _, scale := range []T{0, 0.1, 1, 1e6} {
				want, got := make([]int32, n+2), make([]int32, n+2)
				want[n], got[n] = -1, -1
				limits := make([]T, n)
				for i, b := range bound {
					limits[i] = scale * b * b
				}
				assert.Equal(t, uncertainReference(want, w, a, 1.5, 0.25, limits), Uncertain(got[:n], w, a, 1.5, 0.25, limits))
				assert.Equal(t, want, got)
			}
		}
	})
}

func TestClustersPanic(t *testing.T) {
	x := make([]float32, 7)
	assert.Panics(t, func() { Highest(x[:4], x, x, 4, x, 2) }, "x is short")
	assert.Panics(t, func() { Highest(x[:4], x[:3], x, 4, x, 1) }, "at is short")
	assert.Panics(t, func() { Highest(x[:1], x, x, 1, x[:1], 2) }, "minus is short")
	assert.Panics(t, func() { Uncertain(make([]int32, 3), x[:4], x, 1, 1, x) }, "list is short")
	assert.Panics(t, func() { Uncertain(make([]int32, 4), x[:4], x[:3], 1, 1, x) }, "a is short")
	assert.Panics(t, func() { Uncertain(make([]int32, 4), x[:4], x, 1, 1, x[:3]) }, "bound is short")
}
