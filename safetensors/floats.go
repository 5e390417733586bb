package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/internal/file/scalar"
)

// Floats returns the elements of t converted to T, row-major, in new memory. Floats converts F16,
// BF16, F32, F8_E4M3 and F8_E5M2 exactly, with subnormals and the sign of zero. If T is float32,
// Floats rounds F64 to the nearest float32, ties to even, and to ±Inf beyond the range of float32.
// Floats converts BOOL to 0 and 1, and integers exactly. Floats does not multiply quantised weights
// by scales of another tensor.
//
// Floats returns an error for a DType that Floats does not convert, an integer that T does not
// represent exactly, and Data whose length does not fit DType and Shape.
func Floats[T dense.Float](t Tensor) ([]T, error) {
	elements, err := t.extent()
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	switch t.DType {
	case F64, F32, F16, BF16, F8E4M3, F8E5M2, Bool, I8, I16, I32, I64, U8, U16, U32, U64:
	default:
		return nil, fmt.Errorf("safetensors: dtype %s, want F64, F32, F16, BF16, F8_E4M3, F8_E5M2, BOOL or integers", t.DType)
	}
	// On a 32-bit machine, short elements may fit memory and elements of T may not.
	if _, _, err := extent(dtypeOf[T](), t.Shape); err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	x := make([]T, elements)
	switch t.DType {
	case F8E5M2: // the upper half of binary16
		for i, b := range t.Data {
			x[i] = T(half.Float16(uint16(b) << 8).Float32())
		}
	case F8E4M3:
		for i, b := range t.Data {
			x[i] = T(e4m3(b))
		}
	default:
		if at, err := scalar.Floats(x, t.DType[0]|0x20, t.Data); err != nil {
			return nil, fmt.Errorf("safetensors: element %d: %s %w", at, t.DType, err)
		}
	}
	return x, nil
}

func e4m3(b byte) float32 {
	if b&0x7f == 0x7f {
		return math.Float32frombits(uint32(b>>7)<<31 | 0x7fc00000)
	}
	// The bias of the exponent is 7, and 15 in binary16.
	return 0x1p8 * half.Float16(uint16(b&0x80)<<8|uint16(b&0x7f)<<7).Float32()
}

// FromFloats returns a tensor of the row-major elements x, with DType F64, F32, F16 or BF16 by the
// type E of the elements. FromFloats copies the numbers x bit for bit. Function half.Encode
// converts float32 or float64 to half.Float16 or half.BFloat16. The result of FromFloats shares no
// memory with shape and x. FromFloats returns an error for a negative dimension, and for a product
// of dimensions that is not len(x).
func FromFloats[E dense.Float | half.Number](shape []int, x []E) (Tensor, error) {
	dtype := dtypeOf[E]()
	elements, size, err := extent(dtype, shape)
	if err != nil {
		return Tensor{}, fmt.Errorf("safetensors: %w", err)
	}
	if elements != len(x) {
		return Tensor{}, fmt.Errorf("safetensors: shape %s has %d elements, got %d", brief(shape), elements, len(x))
	}
	data, err := binary.Append(make([]byte, 0, size), binary.LittleEndian, x)
	if err != nil {
		return Tensor{}, fmt.Errorf("safetensors: %w", err)
	}
	return Tensor{DType: dtype, Shape: append([]int{}, shape...), Data: data}, nil
}

func dtypeOf[E dense.Float | half.Number]() DType {
	switch any(E(0)).(type) {
	case float32:
		return F32
	case half.Float16:
		return F16
	case half.BFloat16:
		return BF16
	}
	return F64
}
