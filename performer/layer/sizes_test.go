package layer_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/limittest"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// What no memory can hold is an error that names the argument and the value.
func TestSizes(t *testing.T) {
	densetest.Both(t, testSizes[float32], testSizes[float64])
}

func testSizes[T dense.Float](t *testing.T) {
	const most, large = math.MaxInt/2 + 1, 1 << 23 // memory holds large numbers, not large²
	memory := limittest.Memory(t, "layer")
	for _, n := range []int{math.MaxInt, most, most / 2} {
		memory("Widths.Heads = %d, HeadDim = 3, Input = 2: ", n)(layer.Draw[T](layer.Widths{Input: 2, Heads: n, HeadDim: 3}, densetest.Source(1)))
		memory("Widths.Heads = 2, HeadDim = %d, Input = 2: ", n)(layer.Draw[T](layer.Widths{Input: 2, Heads: 2, HeadDim: n}, densetest.Source(1)))
		memory("Widths.KeyHeads = 2, HeadDim = 3, Keys = %d: ", n)(layer.Draw[T](layer.Widths{Input: 2, Heads: 2, HeadDim: 3, Keys: n}, densetest.Source(1)))
		memory("Widths.KeyHeads = 2, HeadValues = 3, Values = %d: ", n)(layer.Draw[T](layer.Widths{Input: 2, Heads: 2, HeadDim: 3, Values: n}, densetest.Source(1)))
		memory("Widths.Heads = 2, HeadValues = 3, Output = %d: ", n)(layer.Draw[T](layer.Widths{Input: 2, Heads: 2, HeadDim: 3, Output: n}, densetest.Source(1)))
	}
	memory("Widths.Heads = %d, HeadDim = 64, Input = %d: ", large, large)(layer.Draw[T](layer.Widths{Input: large, Heads: large, HeadDim: 64}, densetest.Source(1)))
	_, err := layer.Draw[T](layer.Widths{Input: 2, Heads: 2, Output: most, NoOutput: true}, densetest.Source(1))
	assert.NoError(t, err, "an Output that there is not has no size")
}
