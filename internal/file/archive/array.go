package archive

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// Element is an element of an array.
type Element interface{ int8 | int | float32 | float64 }

// Array is a row-major array with any number of dimensions.
type Array[E Element] struct {
	Shape []int
	Data  []E
}

// tensorOf returns v as a tensor. ok is false unless v is a slice, a matrix or an Array of
// elements.
func tensorOf(v any) (safetensors.Tensor, bool, error) {
	t, ok, err := tensorOfElement[int8](v)
	if !ok {
		t, ok, err = tensorOfElement[int](v)
	}
	if !ok {
		t, ok, err = tensorOfElement[float32](v)
	}
	if !ok {
		t, ok, err = tensorOfElement[float64](v)
	}
	return t, ok, err
}

func tensorOfElement[E Element](v any) (t safetensors.Tensor, ok bool, err error) {
	var a Array[E]
	switch v := v.(type) {
	case []E:
		a = Array[E]{[]int{len(v)}, v}
	case Array[E]:
		a = v
	default:
		return matrixTensor(v)
	}
	switch data := any(a.Data).(type) {
	case []float32:
		t, err = safetensors.FromFloats(a.Shape, data)
	case []float64:
		t, err = safetensors.FromFloats(a.Shape, data)
	case []int8:
		t = safetensors.Tensor{DType: safetensors.I8, Shape: a.Shape, Data: make([]byte, len(data))}
		for i, e := range data {
			t.Data[i] = byte(e)
		}
	case []int:
		t = safetensors.Tensor{DType: safetensors.I64, Shape: a.Shape, Data: make([]byte, 0, 8*len(data))}
		for _, e := range data {
			t.Data = binary.LittleEndian.AppendUint64(t.Data, uint64(e))
		}
	}
	return t, true, err
}

// matrixTensor returns v as a tensor. ok is false unless v is a matrix.
func matrixTensor(v any) (t safetensors.Tensor, ok bool, err error) {
	switch v := v.(type) {
	case dense.Matrix[float32]:
		t, err = safetensors.FromFloats([]int{v.Rows, v.Cols}, v.Clone().Data)
	case dense.Matrix[float64]:
		t, err = safetensors.FromFloats([]int{v.Rows, v.Cols}, v.Clone().Data)
	default:
		return t, false, nil
	}
	return t, true, err
}

// isArray reports whether Write writes values of the type as a tensor.
func isArray(t reflect.Type) bool {
	_, ok, _ := tensorOf(reflect.Zero(t).Interface())
	return ok
}

// fill writes the elements of the tensor to v, a pointer to a slice, a matrix or an Array.
func fill(v any, t safetensors.Tensor) error {
	switch v := v.(type) {
	case *dense.Matrix[float32]:
		return fillMatrix(v, t)
	case *dense.Matrix[float64]:
		return fillMatrix(v, t)
	case *[]int8:
		return fillSlice(v, t)
	case *[]int:
		return fillSlice(v, t)
	case *[]float32:
		return fillSlice(v, t)
	case *[]float64:
		return fillSlice(v, t)
	case *Array[int8]:
		return fillArray(v, t)
	case *Array[int]:
		return fillArray(v, t)
	case *Array[float32]:
		return fillArray(v, t)
	case *Array[float64]:
		return fillArray(v, t)
	}
	panic(fmt.Sprintf("archive: %T is not an array", v))
}

func fillSlice[E Element](v *[]E, t safetensors.Tensor) error {
	if len(t.Shape) != 1 {
		return fmt.Errorf("%d dimensions, want 1", len(t.Shape))
	}
	var a Array[E]
	err := fillArray(&a, t)
	*v = a.Data
	return err
}

func fillMatrix[T dense.Float](v *dense.Matrix[T], t safetensors.Tensor) error {
	if len(t.Shape) != 2 {
		return fmt.Errorf("%d dimensions, want 2", len(t.Shape))
	}
	var a Array[T]
	if err := fillArray(&a, t); err != nil {
		return err
	}
	*v = dense.Of(t.Shape[0], t.Shape[1], a.Data)
	return nil
}

func fillArray[E Element](v *Array[E], t safetensors.Tensor) error {
	if want := dtypeOf[E](); t.DType != want {
		return fmt.Errorf("dtype %s, want %s", t.DType, want)
	}
	v.Shape = t.Shape
	switch data := any(&v.Data).(type) {
	case *[]float32:
		return fillFloats(data, t)
	case *[]float64:
		return fillFloats(data, t)
	case *[]int8:
		*data = make([]int8, len(t.Data))
		for i, b := range t.Data {
			(*data)[i] = int8(b)
		}
	case *[]int:
		*data = make([]int, len(t.Data)/8)
		for i := range *data {
			e := int64(binary.LittleEndian.Uint64(t.Data[8*i:]))
			if e < math.MinInt || e > math.MaxInt {
				return fmt.Errorf("element %d = %s is beyond an int", i, strconv.FormatInt(e, 10))
			}
			(*data)[i] = int(e)
		}
	}
	return nil
}

func fillFloats[T dense.Float](data *[]T, t safetensors.Tensor) (err error) {
	*data, err = safetensors.Floats[T](t)
	return err
}

// dtypeOf returns the DType of E.
func dtypeOf[E Element]() safetensors.DType {
	switch any(E(0)).(type) {
	case int8:
		return safetensors.I8
	case int:
		return safetensors.I64
	case float32:
		return safetensors.F32
	}
	return safetensors.F64
}
