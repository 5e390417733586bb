package safetensors

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// File is the content of a safetensors file.
type File struct {
	// Metadata is free text by key. A nil map is a file without metadata, which
	// is not the same file as one with an empty map.
	Metadata map[string]string

	// Tensors are the tensors by name. Any valid UTF-8 is a name, the empty
	// string included, but __metadata__.
	Tensors map[string]Tensor
}

// Tensor is a dense array. Its zero value is not valid, as it has no DType.
type Tensor struct {
	DType DType

	// Shape holds the dimensions, outermost first. An empty or nil Shape is a
	// scalar, of one element.
	Shape []int

	// Data holds the elements row-major, each little-endian: as many bytes as
	// DType and Shape imply.
	Data []byte
}

// extent returns the number of elements of the tensor, the product of its
// dimensions, after checking DType, Shape and Data against each other.
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

// extent returns the number of elements of a shape, Π shape, and of bytes that
// they take, bits·Π shape/8. It is an error if the dtype is unknown, a dimension is
// negative, the bits do not fill bytes, or if a number does not fit
// an int, also with the dimensions left out that are 0.
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
	// The quotient by 8 has 64 bits only below this bound; beyond it, it is no int either.
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

// brief returns the shape as text for an error, cut after eight dimensions.
func brief(shape []int) string {
	const most = 8
	if len(shape) <= most {
		return fmt.Sprint(shape)
	}
	return strings.TrimSuffix(fmt.Sprint(shape[:most]), "]") + fmt.Sprintf(" … %d dimensions]", len(shape))
}
