package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Floats returns the elements of t, row-major, in new memory.
//
// F16, BF16 and F32 convert exactly, subnormals and the sign of zero included. F64
// converts to float32 by rounding to nearest even, where values beyond the range
// become ±Inf. ±Inf stay what they are and NaN stays NaN; its sign and payload are
// kept where no rounding takes place.
//
// It is an error if t has another dtype, or if its Data do not fit its DType and
// Shape.
func Floats[T float32 | float64](t Tensor) ([]T, error) {
	elements, err := t.extent()
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	switch t.DType {
	case F64, F32, F16, BF16:
	default:
		return nil, fmt.Errorf("safetensors: dtype %s, want F64, F32, F16 or BF16", t.DType)
	}
	// Elements of two bytes may fit the memory of a 32-bit machine where those of T do not.
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
			x[i] = T(half(binary.LittleEndian.Uint16(t.Data[2*i:])))
		}
	case BF16:
		for i := range x {
			x[i] = T(math.Float32frombits(uint32(binary.LittleEndian.Uint16(t.Data[2*i:])) << 16))
		}
	}
	return x, nil
}

// FromFloats returns x, row-major, as a tensor of type F32 or F64 by T, bit for bit.
// The tensor shares no memory with shape and x. It is an error if a dimension is
// negative or if Π shape ≠ len(x).
func FromFloats[T float32 | float64](shape []int, x []T) (Tensor, error) {
	dtype := dtypeOf[T]()
	elements, size, err := extent(dtype, shape)
	if err != nil {
		return Tensor{}, fmt.Errorf("safetensors: %w", err)
	}
	if elements != len(x) {
		return Tensor{}, fmt.Errorf("safetensors: shape %s has %d elements, got %d", brief(shape), elements, len(x))
	}
	data := make([]byte, 0, size)
	switch x := any(x).(type) {
	case []float32:
		for _, v := range x {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
	case []float64:
		for _, v := range x {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
	}
	return Tensor{DType: dtype, Shape: append([]int{}, shape...), Data: data}, nil
}

// dtypeOf returns F32 or F64.
func dtypeOf[T float32 | float64]() DType {
	if _, ok := any(T(0)).(float32); ok {
		return F32
	}
	return F64
}

// half returns the binary16 number h, (−1)^s·2^(e−15)·(1+m/2¹⁰) and for e = 0
// (−1)^s·m·2⁻²⁴, exactly. For e = 31 it is ±Inf or, with m in the upper bits of
// its payload, NaN.
func half(h uint16) float32 {
	sign, exponent, mantissa := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(mantissa)*0x1p-24))
	case 31:
		exponent = 255
	default:
		exponent += 127 - 15
	}
	return math.Float32frombits(sign | exponent<<23 | mantissa<<13)
}
