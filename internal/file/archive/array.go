package archive

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// tensorOf returns v as a tensor, which may share the memory of v. ok is false unless v is a slice
// of numbers or a matrix.
func tensorOf(v any) (t safetensors.Tensor, ok bool) {
	shape := []int{0}
	switch m := v.(type) {
	case dense.Matrix[float32]:
		shape, v = []int{m.Rows, m.Cols}, m.Clone().Data
	case dense.Matrix[float64]:
		shape, v = []int{m.Rows, m.Cols}, m.Clone().Data
	}
	dtype := dtypeOf(v)
	if dtype == "" {
		return t, false
	}
	if len(shape) == 1 {
		shape[0] = reflect.ValueOf(v).Len()
	}
	if x, ok := v.([]int); ok {
		wide := make([]int64, len(x))
		for i, e := range x {
			wide[i] = int64(e)
		}
		v = wide
	}
	if data, ok := viewOf(v); ok {
		return safetensors.Tensor{DType: dtype, Shape: shape, Data: data}, true
	}
	data, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err) // slices of all types of dtypeOf have a fixed size
	}
	return safetensors.Tensor{DType: dtype, Shape: shape, Data: data}, true
}

func dtypeOf(v any) safetensors.DType {
	switch v.(type) {
	case []uint8:
		return safetensors.U8
	case []int32:
		return safetensors.I32
	case []int:
		return safetensors.I64
	case []uint32:
		return safetensors.U32
	case []uint64:
		return safetensors.U64
	case []float32:
		return safetensors.F32
	case []float64:
		return safetensors.F64
	}
	return ""
}

func isArray(t reflect.Type) bool {
	_, ok := tensorOf(reflect.Zero(t).Interface())
	return ok
}

func fill(v any, t safetensors.Tensor) error {
	switch m := v.(type) {
	case *dense.Matrix[float32]:
		return fillMatrix(m, t)
	case *dense.Matrix[float64]:
		return fillMatrix(m, t)
	case *[]int:
		var wide []int64
		if err := fillSlice(&wide, t, safetensors.I64, 1); err != nil {
			return err
		}
		*m = make([]int, len(wide))
		for i, e := range wide {
			if (*m)[i] = int(e); int64((*m)[i]) != e {
				return fmt.Errorf("element %d = %d is beyond an int", i, e)
			}
		}
		return nil
	case *[]uint8:
		return fillSlice(m, t, safetensors.U8, 1)
	case *[]int32:
		return fillSlice(m, t, safetensors.I32, 1)
	case *[]uint32:
		return fillSlice(m, t, safetensors.U32, 1)
	case *[]uint64:
		return fillSlice(m, t, safetensors.U64, 1)
	case *[]float32:
		return fillSlice(m, t, safetensors.F32, 1)
	case *[]float64:
		return fillSlice(m, t, safetensors.F64, 1)
	}
	panic(fmt.Sprintf("archive: %T is not an array", v))
}

func fillMatrix[T dense.Float](m *dense.Matrix[T], t safetensors.Tensor) error {
	var x []T
	if err := fillSlice(&x, t, dtypeOf(x), 2); err != nil {
		return err
	}
	*m = dense.Of(t.Shape[0], t.Shape[1], x)
	return nil
}

func fillSlice[E uint8 | int32 | int64 | uint32 | uint64 | float32 | float64](x *[]E, t safetensors.Tensor, dtype safetensors.DType, dims int) error {
	switch {
	case len(t.Shape) != dims:
		return fmt.Errorf("%d dimensions, want %d", len(t.Shape), dims)
	case t.DType != dtype:
		return fmt.Errorf("dtype %s, want %s", t.DType, dtype)
	}
	*x = make([]E, len(t.Data)/binary.Size(*new(E)))
	_, err := binary.Decode(t.Data, binary.LittleEndian, *x)
	return err
}
