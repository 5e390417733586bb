package dense_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func TestCopyBetweenPrecisions(t *testing.T) {
	// Halfway cases go to the even neighbour.
	in := []float64{1, 1 + 0x1p-24, 1 + 0x1.8p-23, 1e300, -1e300, 1e-300, math.Inf(-1), math.NaN()}
	want := []float32{1, 1, 1 + 0x1p-22, float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Inf(-1))}
	got := dense.Copy(dense.Matrix[float32]{}, dense.Of(2, 4, in))
	assert.Equal(t, want, got.Data[:7])
	assert.True(t, math.IsNaN(float64(got.Data[7])))

	single := densetest.Counted[float32](3, 2, 5)
	double := dense.Copy(dense.Matrix[float64]{}, single)
	assert.Equal(t, dense.Of(3, 2, []float64{0, 1, 100, 101, 200, 201}), double)
	assert.Equal(t, single.Clone(), dense.Copy(dense.Matrix[float32]{}, double), "there and back")
	assert.Equal(t, double, dense.Copy(dense.Matrix[float64]{}, double), "to the same type")

	wide := densetest.Counted[float64](3, 4, 4)
	dense.Copy(wide.ColRange(1, 3), single)
	assert.Equal(t, []float64{100, 100, 101, 103}, wide.Row(1))
	assert.PanicsWithValue(t, "dense: destination is 3×4, want 3×2", func() { dense.Copy(wide, single) })
}

func testCopyAllocatesNothing[T dense.Float](t *testing.T) {
	src, single, double := dense.New[T](5, 6), dense.New[float32](5, 6), dense.New[float64](5, 6)
	assert.Zero(t, testing.AllocsPerRun(100, func() { dense.Copy(single, src) }))
	assert.Zero(t, testing.AllocsPerRun(100, func() { dense.Copy(double, src) }))
}

func TestCopyAllocatesNothing(t *testing.T) {
	densetest.Both(t, testCopyAllocatesNothing[float32], testCopyAllocatesNothing[float64])
}
