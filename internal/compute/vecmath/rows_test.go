package vecmath

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// PeakRows and ExpRows have the bits of their references, or of ExpDiff and AddScaled row by row,
// for every number of columns, with special numbers in all slices. They write neither between rows
// nor around them.
func TestRows(t *testing.T) {
	t.Run("type=float32", testRows[float32])
	t.Run("type=float64", testRows[float64])
}

func testRows[T Float](t *testing.T) {
	everyTier(t, "", func(t *testing.T) {
		r := rand.New(rand.NewPCG(41, 0))
		for n := range longest + 1 {
			for _, rows := range []int{0, 1, 2, 5} {
				stride := n + r.IntN(4)
				draw := mixed[T]
				if n%2 == 1 {
					draw = func(_ *rand.Rand, n int) []T { return normals[T](n) }
				}
				a, b, wantX := draw(r, n), draw(r, n), draw(r, rows*stride)
				wantPeaks, wantSums := draw(r, n), draw(r, n)
				x, checkX := guarded(wantX)
				peaks, checkPeaks := guarded(wantPeaks)
				sums, checkSums := guarded(wantSums)

				peakRowsReference(wantPeaks, wantX, stride, rows)
				PeakRows(peaks, x, stride, rows)
				equalBits(t, wantX, x, "rows, read")
				equalBits(t, wantPeaks, peaks, "peaks")

				for i := range rows {
					row := wantX[i*stride:][:n]
					ExpDiff(row, row, a, b)
					AddScaled(wantSums, row, 1)
				}
				ExpRows(x, stride, rows, a, b, sums)
				equalBits(t, wantX, x, "rows")
				equalBits(t, wantSums, sums, "sums")
				checkX(t)
				checkPeaks(t)
				checkSums(t)
			}
		}
	})
}

func TestRowsPanic(t *testing.T) {
	x := make([]float32, 7)
	assert.Panics(t, func() { PeakRows(x[:4], x, 4, 2) }, "x is short")
	assert.Panics(t, func() { PeakRows(x[:4], x, 3, 1) }, "rows overlap")
	assert.Panics(t, func() { ExpRows(x, 4, 2, x, x, make([]float32, 4)) }, "x is short")
	assert.Panics(t, func() { ExpRows(x, 2, 2, x, x, make([]float32, 3)) }, "rows overlap")
	assert.Panics(t, func() { ExpRows(x, 3, 2, x[:2], x, make([]float32, 3)) }, "a is short")
	assert.Panics(t, func() { ExpRows(x, 3, 2, x, x[:2], make([]float32, 3)) }, "b is short")
}
