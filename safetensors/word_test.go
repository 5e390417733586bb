package safetensors

import (
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What fits the memory of a 32-bit machine but not its int is an error.
func TestShortInt(t *testing.T) {
	if math.MaxInt > math.MaxInt32 {
		t.Skip("needs an int of 32 bits")
	}
	// Never written to, so that it takes addresses but hardly memory.
	data := make([]byte, 1<<30)
	large := Tensor{U8, []int{1 << 30}, data}
	err := Write(io.Discard, &File{Tensors: map[string]Tensor{"v": large, "w": large}})
	assert.EqualError(t, err, `safetensors: tensor "w": 1073741824 bytes after 1073741824 are beyond an int`)

	_, err = Floats[float64](Tensor{BF16, []int{1 << 29}, data})
	assert.EqualError(t, err, "safetensors: shape [536870912] of dtype F64 has more bytes than an int counts")
}
