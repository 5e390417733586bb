package layer_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/limittest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/layer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// What no memory can hold is an error that names the argument and the value.
func TestSizes(t *testing.T) {
	densetest.Both(t, testSizes[float32], testSizes[float64])
}

func testSizes[T dense.Float](t *testing.T) {
	const most, large = math.MaxInt/2 + 1, 1 << 23 // memory holds large numbers, but not the square of it
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

// A number of heads that a configuration has got wrong is seen where it does not fit, at once.
func TestManyHeads(t *testing.T) {
	const heads = 1 << 24
	l := must.Have(layer.New(must.Have(layer.Draw[float32](layer.Widths{Input: 8, Heads: 2}, densetest.Source(1))), exactBatch[float32](2, 2), layer.Options{}))
	var file bytes.Buffer
	require.NoError(t, l.Write(&file, ""))
	_, err := layer.Read(must.Have(safetensors.Read(&file)), "", exactBatch[float32](heads, heads), layer.Options{})
	assert.EqualError(t, err, fmt.Sprintf(`layer: tensor "in_proj_weight" has shape [24 8], want a multiple of %d rows, for %d and %d heads`, 3*heads, heads, heads))
}
