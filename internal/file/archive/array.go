package archive

import (
	"fmt"
	"reflect"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// Element is an element of an array.
type Element interface {
	int8 | int | uint32 | uint64 | float32 | float64
}

// Array is a row-major array with any number of dimensions.
type Array[E Element] struct {
	Shape []int
	Data  []E
}

// tensorOf returns v as a tensor, which may share the memory of v. ok is false unless v is a slice,
// a matrix or an Array of elements.
func tensorOf(v any) (t safetensors.Tensor, ok bool) {
	switch v := v.(type) {
	case dense.Matrix[float32]:
		return tensor([]int{v.Rows, v.Cols}, v.Clone().Data), true
	case dense.Matrix[float64]:
		return tensor([]int{v.Rows, v.Cols}, v.Clone().Data), true
	}
	for _, of := range [...]func(any) (safetensors.Tensor, bool){
		arrayTensor[int8], arrayTensor[int], arrayTensor[uint32], arrayTensor[uint64], arrayTensor[float32], arrayTensor[float64],
	} {
		if t, ok = of(v); ok {
			break
		}
	}
	return t, ok
}

func arrayTensor[E Element](v any) (safetensors.Tensor, bool) {
	switch v := v.(type) {
	case []E:
		return tensor([]int{len(v)}, v), true
	case Array[E]:
		return tensor(v.Shape, v.Data), true
	}
	return safetensors.Tensor{}, false
}

func tensor[E Element](shape []int, data []E) safetensors.Tensor {
	return safetensors.Tensor{DType: dtypeOf[E](), Shape: shape, Data: bytesOf(data)}
}

// isArray reports whether Write writes values of the type as a tensor.
func isArray(t reflect.Type) bool {
	_, ok := tensorOf(reflect.Zero(t).Interface())
	return ok
}

// fill writes the elements of the tensor to v, a pointer to a slice, a matrix or an Array.
func fill(v any, t safetensors.Tensor) error {
	switch v := v.(type) {
	case *dense.Matrix[float32]:
		return fillMatrix(v, t)
	case *dense.Matrix[float64]:
		return fillMatrix(v, t)
	}
	for _, array := range [...]func(any, safetensors.Tensor) (bool, error){
		fillArray[int8], fillArray[int], fillArray[uint32], fillArray[uint64], fillArray[float32], fillArray[float64],
	} {
		if ok, err := array(v, t); ok {
			return err
		}
	}
	panic(fmt.Sprintf("archive: %T is not an array", v))
}

func fillMatrix[T dense.Float](v *dense.Matrix[T], t safetensors.Tensor) error {
	data, err := dataOf[T](t, 2)
	if err == nil {
		*v = dense.Of(t.Shape[0], t.Shape[1], data)
	}
	return err
}

// fillArray is fill for slices and Arrays of E. ok is false if v is no pointer to one.
func fillArray[E Element](v any, t safetensors.Tensor) (ok bool, err error) {
	switch v := v.(type) {
	case *[]E:
		*v, err = dataOf[E](t, 1)
	case *Array[E]:
		v.Shape = t.Shape
		v.Data, err = dataOf[E](t, len(t.Shape))
	default:
		return false, nil
	}
	return true, err
}

// dataOf returns the elements of a tensor of the given number of dimensions.
func dataOf[E Element](t safetensors.Tensor, dimensions int) ([]E, error) {
	if len(t.Shape) != dimensions {
		return nil, fmt.Errorf("%d dimensions, want %d", len(t.Shape), dimensions)
	}
	if want := dtypeOf[E](); t.DType != want {
		return nil, fmt.Errorf("dtype %s, want %s", t.DType, want)
	}
	return elementsOf[E](t.Data)
}

// dtypeOf returns the DType of E.
func dtypeOf[E Element]() safetensors.DType {
	switch any(E(0)).(type) {
	case int8:
		return safetensors.I8
	case int:
		return safetensors.I64
	case uint32:
		return safetensors.U32
	case uint64:
		return safetensors.U64
	case float32:
		return safetensors.F32
	}
	return safetensors.F64
}
