package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
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
func Floats[T dense.Float](t Tensor) ([]T, error) {
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
			x[i] = T(half.Float16(binary.LittleEndian.Uint16(t.Data[2*i:])).Float32())
		}
	case BF16:
		for i := range x {
			x[i] = T(half.BFloat16(binary.LittleEndian.Uint16(t.Data[2*i:])).Float32())
		}
	}
	return x, nil
}

// FromFloats returns x, row-major, as a tensor of type F64, F32, F16 or BF16 by E, bit for bit.
// half.Encode makes numbers of 16 bits. The tensor shares no memory with shape and x. It is an
// error if a dimension is negative or if Π shape ≠ len(x).
func FromFloats[E dense.Float | half.Number](shape []int, x []E) (Tensor, error) {
	dtype := dtypeOf[E]()
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
	case []half.Float16:
		for _, v := range x {
			data = binary.LittleEndian.AppendUint16(data, uint16(v))
		}
	case []half.BFloat16:
		for _, v := range x {
			data = binary.LittleEndian.AppendUint16(data, uint16(v))
		}
	}
	return Tensor{DType: dtype, Shape: append([]int{}, shape...), Data: data}, nil
}

// dtypeOf returns the type of the elements E.
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
