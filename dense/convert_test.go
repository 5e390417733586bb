package dense

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestConvert(t *testing.T) {
	// Halfway cases go to the even neighbour.
	in := []float64{1, 1 + 0x1p-24, 1 + 0x1.8p-23, 1e300, -1e300, 1e-300, math.Inf(-1), math.NaN()}
	want := []float32{1, 1, 1 + 0x1p-22, float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Inf(-1))}
	got := Convert(Matrix[float32]{}, Of(2, 4, in))
	assert.Equal(t, want, got.Data[:7])
	assert.True(t, math.IsNaN(float64(got.Data[7])))

	single := counted[float32](3, 2, 5)
	double := Convert(Matrix[float64]{}, single)
	assert.Equal(t, Of(3, 2, []float64{0, 1, 100, 101, 200, 201}), double)
	assert.Equal(t, single.Clone(), Convert(Matrix[float32]{}, double), "there and back")
	assert.Equal(t, double, Convert(Matrix[float64]{}, double), "to the same type")

	wide := counted[float64](3, 4, 4)
	Convert(wide.ColRange(1, 3), single)
	assert.Equal(t, []float64{100, 100, 101, 103}, wide.Row(1))
	assert.PanicsWithValue(t, "dense: destination is 3×4, want 3×2", func() { Convert(wide, single) })
}
