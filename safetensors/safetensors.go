package safetensors

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// File holds the tensors and the metadata of a safetensors file.
type File struct {
	// Metadata holds the texts that the file has beside tensors, by key; nil means a file without
	// metadata, and an empty map a file with an empty table of metadata.
	Metadata map[string]string

	// Tensors holds the tensors by name; a name is any valid UTF-8, also "", except __metadata__.
	Tensors map[string]Tensor
}

// Tensor is a dense array of numbers; the zero Tensor is not valid.
type Tensor struct {
	DType DType

	// Shape holds the dimensions of the tensor, outermost first. An empty or nil Shape means a
	// scalar, which has one element.
	Shape []int

	// Data holds the bytes of the elements, row-major and little-endian.
	Data []byte
}

func (t Tensor) extent() (elements int, err error) {
	elements, size, err := extent(t.DType, t.Shape)
	if err != nil {
		return 0, err
	}
	if len(t.Data) != size {
		return 0, fmt.Errorf("%d bytes of data, want %d for dtype %s and shape %s", len(t.Data), size, t.DType, brief(t.Shape))
	}
	return elements, nil
}

// extent returns Π shape and bits·Π shape/8, or an error if these, or a product without the
// dimensions 0, do not fit an int.
func extent(dtype DType, shape []int) (elements, size int, err error) {
	rank := dtype.rank()
	if rank < 0 {
		return 0, 0, fmt.Errorf("dtype %.40q is unknown", string(dtype))
	}
	product, empty := uint64(1), false
	for _, d := range shape {
		if d < 0 {
			return 0, 0, fmt.Errorf("shape %s has the negative dimension %d", brief(shape), d)
		}
		if d == 0 {
			empty = true
			continue
		}
		var high uint64
		high, product = bits.Mul64(product, uint64(d))
		if high > 0 || product > math.MaxInt {
			return 0, 0, fmt.Errorf("shape %s has more elements than an int counts", brief(shape))
		}
	}
	high, low := bits.Mul64(product, dtypes[rank].bits)
	// For high ≥ 8 the quotient by 8 has more than 64 bits.
	if high >= 8 || high<<61|low>>3 > math.MaxInt {
		return 0, 0, fmt.Errorf("shape %s of dtype %s has more bytes than an int counts", brief(shape), dtype)
	}
	if empty {
		return 0, 0, nil
	}
	if low%8 != 0 {
		return 0, 0, fmt.Errorf("shape %s of dtype %s takes %d bits, want a multiple of 8", brief(shape), dtype, low)
	}
	return int(product), int(high<<61 | low>>3), nil
}

func brief(shape []int) string {
	const most = 8
	if len(shape) <= most {
		return fmt.Sprint(shape)
	}
	return strings.TrimSuffix(fmt.Sprint(shape[:most]), "]") + fmt.Sprintf(" … %d dimensions]", len(shape))
}
