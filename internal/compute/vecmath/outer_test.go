package vecmath

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Outer, DecayOuter and SumRows have the bits of Scale and AddScaled for every row, for every
// number of columns, with special numbers in all slices, and write neither between rows nor around
// them.
func TestOuter(t *testing.T) {
	t.Run("type=float32", testOuter[float32])
	t.Run("type=float64", testOuter[float64])
}

func testOuter[T Float](t *testing.T) {
	everyTier(t, "", func(t *testing.T) {
		r := rand.New(rand.NewPCG(40, 0))
		draw := func(n int, special bool) []T {
			if special {
				return mixed[T](r, n)
			}
			return normals[T](n)
		}
		for n := range longest + 1 {
			for _, rows := range []int{0, 1, 2, 5} {
				stride := n + r.IntN(4)
				special := n%2 == 0
				g, a, b, x := draw(rows, special), draw(rows, special), draw(rows, special), draw(n, special)
				wantS, wantY := draw(rows*stride, special), draw(n, special)
				s, checkS := guarded(wantS)
				y, checkY := guarded(wantY)
				for i := range rows {
					row := wantS[i*stride:][:n]
					addScaledReference(row, x, a[i])
					addScaledReference(wantY, row, b[i])
				}
				Outer(s, stride, a, b, x, y)
				equalBits(t, wantS, s, "rows")
				equalBits(t, wantY, y, "sum")
				for i := range rows {
					row := wantS[i*stride:][:n]
					for j := range row {
						row[j] *= g[i]
					}
					addScaledReference(row, x, b[i])
					addScaledReference(wantY, row, a[i])
				}
				DecayOuter(s, stride, g, b, a, x, y)
				equalBits(t, wantS, s, "rows, decayed")
				equalBits(t, wantY, y, "sum, decayed")
				for i := range rows {
					addScaledReference(wantY, wantS[i*stride:][:n], a[i])
				}
				SumRows(s, stride, a, y)
				equalBits(t, wantS, s, "rows, read")
				equalBits(t, wantY, y, "sum of rows")
				checkS(t)
				checkY(t)
			}
		}
	})
}

func TestOuterPanics(t *testing.T) {
	assert.Panics(t, func() { SumRows(make([]float32, 7), 4, make([]float32, 2), make([]float32, 4)) }, "s is short")
	assert.Panics(t, func() { SumRows(make([]float32, 8), 3, make([]float32, 2), make([]float32, 4)) }, "rows overlap")
	x := make([]float32, 4)
	assert.Panics(t, func() { Outer(make([]float32, 7), 4, x[:2], x, x, make([]float32, 4)) }, "s is short")
	assert.Panics(t, func() { Outer(make([]float32, 8), 4, x[:2], x[:1], x, make([]float32, 4)) }, "b is short")
	assert.Panics(t, func() { Outer(make([]float32, 8), 4, x[:2], x, x, make([]float32, 3)) }, "y is short")
	assert.Panics(t, func() { Outer(make([]float32, 8), 3, x[:2], x, x, make([]float32, 4)) }, "rows overlap")
	assert.Panics(t, func() { DecayOuter(make([]float32, 8), 4, x[:1], x[:2], x, x, make([]float32, 4)) }, "g is short")
}
