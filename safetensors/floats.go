package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
)

// Floats returns the elements of t converted to T, row-major, in new memory.
//
// Floats converts F16, BF16, F32, F8_E4M3 and F8_E5M2 exactly, with subnormals and the sign of
// zero. If T is float32, Floats rounds F64 to the nearest float32, ties to even, and to ±Inf beyond
// the range of float32. Floats converts ±Inf to ±Inf and NaN to NaN, with sign and payload if T is
// the type of the elements. The type F8_E4M3 has no infinity, and only the bytes 0x7f and 0xff are
// NaN [OFP8]. Floats converts BOOL to 0 and 1. Integers convert exactly. Floats does not multiply
// quantised weights (F8 or integers) by scales from another tensor.
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
	case F64:
		for i := range x {
			x[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(t.Data[8*i:])))
		}
	case F32:
		for i := range x {
			x[i] = T(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:])))
		}
	case F16:
		for i := range x {
			x[i] = T(half.Float16(binary.LittleEndian.Uint16(t.Data[2*i:])).Float32())
		}
	case BF16:
		for i := range x {
			x[i] = T(half.BFloat16(binary.LittleEndian.Uint16(t.Data[2*i:])).Float32())
		}
	case F8E5M2: // the upper half of binary16
		for i, b := range t.Data {
			x[i] = T(half.Float16(uint16(b) << 8).Float32())
		}
	case F8E4M3:
		for i, b := range t.Data {
			x[i] = T(e4m3(b))
		}
	case Bool:
		for i, b := range t.Data {
			x[i] = T(min(b, 1))
		}
	default:
		if err := integers(x, t); err != nil {
			return nil, fmt.Errorf("safetensors: %w", err)
		}
	}
	return x, nil
}

// e4m3 returns the number with a sign bit, 4 bits of exponent and 3 bits of fraction.
func e4m3(b byte) float32 {
	if b&0x7f == 0x7f {
		return math.Float32frombits(uint32(b>>7)<<31 | 0x7fc00000)
	}
	// The bias of the exponent is 7, and 15 in binary16.
	return 0x1p8 * half.Float16(uint16(b&0x80)<<8|uint16(b&0x7f)<<7).Float32()
}

func integers[T dense.Float](x []T, t Tensor) error {
	digits := 53
	if dtypeOf[T]() == F32 {
		digits = 24
	}
	for i := range x {
		size := len(t.Data) / len(x)
		var word [8]byte
		copy(word[:], t.Data[i*size:][:size])
		magnitude, sign := binary.LittleEndian.Uint64(word[:]), ""
		if unused := 64 - 8*size; t.DType[0] == 'I' && int64(magnitude<<unused) < 0 {
			magnitude, sign = -magnitude<<unused>>unused, "-"
		}
		if bits.Len64(magnitude)-bits.TrailingZeros64(magnitude) > digits {
			return fmt.Errorf("element %d: %s %s%d is not exact in %T", i, t.DType, sign, magnitude, x[i])
		}
		if x[i] = T(magnitude); sign != "" {
			x[i] = -x[i]
		}
	}
	return nil
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
