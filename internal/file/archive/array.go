package archive

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// dtypes has the type in files of the elements of each slice that is written as a tensor.
var dtypes = map[reflect.Type]safetensors.DType{
	reflect.TypeFor[[]uint8]():   safetensors.U8,
	reflect.TypeFor[[]int32]():   safetensors.I32,
	reflect.TypeFor[[]int]():     safetensors.I64,
	reflect.TypeFor[[]uint32]():  safetensors.U32,
	reflect.TypeFor[[]uint64]():  safetensors.U64,
	reflect.TypeFor[[]float32](): safetensors.F32,
	reflect.TypeFor[[]float64](): safetensors.F64,
}

func isMatrix(t reflect.Type) bool {
	return t == reflect.TypeFor[dense.Matrix[float32]]() || t == reflect.TypeFor[dense.Matrix[float64]]()
}

// isArray reports whether Write writes values of the type as a tensor.
func isArray(t reflect.Type) bool { return dtypes[t] != "" || isMatrix(t) }

// tensorOf returns v, a slice of numbers or a matrix, as a tensor, which may share the memory of v.
func tensorOf(v reflect.Value) safetensors.Tensor {
	var shape []int
	switch m := v.Interface().(type) {
	case dense.Matrix[float32]:
		shape, v = []int{m.Rows, m.Cols}, reflect.ValueOf(m.Clone().Data)
	case dense.Matrix[float64]:
		shape, v = []int{m.Rows, m.Cols}, reflect.ValueOf(m.Clone().Data)
	default:
		shape = []int{v.Len()}
	}
	t := safetensors.Tensor{DType: dtypes[v.Type()], Shape: shape}
	if isViewed(v.Type()) {
		t.Data = unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(v.Type().Elem().Size()))
		return t
	}
	if x, ok := v.Interface().([]int); ok {
		wide := make([]int64, len(x))
		for i, e := range x {
			wide[i] = int64(e)
		}
		v = reflect.ValueOf(wide)
	}
	var err error
	if t.Data, err = binary.Append(nil, binary.LittleEndian, v.Interface()); err != nil {
		panic(err) // slices of all types of dtypes but int have a fixed size
	}
	return t
}

// fill writes the elements of the tensor to v, a slice of numbers or a matrix. If shares is true, v
// may share the memory of the tensor.
func fill(v reflect.Value, t safetensors.Tensor, shares bool) error {
	x, dims := v, 1
	if isMatrix(v.Type()) {
		x, dims = v.FieldByName("Data"), 2
	}
	slice := x.Type()
	switch {
	case len(t.Shape) != dims:
		return fmt.Errorf("%d dimensions, want %d", len(t.Shape), dims)
	case t.DType != dtypes[slice]:
		return fmt.Errorf("dtype %s, want %s", t.DType, dtypes[slice])
	}
	size, ints := int(slice.Elem().Size()), slice.Elem().Kind() == reflect.Int
	if ints {
		slice, size = reflect.TypeFor[[]int64](), 8
	}
	n, at := len(t.Data)/size, unsafe.Pointer(unsafe.SliceData(t.Data))
	if shares && dims == 1 && n > 0 && isViewed(slice) && uintptr(at)%uintptr(size) == 0 {
		x.Set(reflect.SliceAt(slice.Elem(), at, n))
		return nil
	}
	elements := reflect.MakeSlice(slice, n, n)
	if _, err := binary.Decode(t.Data, binary.LittleEndian, elements.Interface()); err != nil {
		return err
	}
	if ints {
		own := make([]int, n)
		for i, e := range elements.Interface().([]int64) {
			if own[i] = int(e); int64(own[i]) != e {
				return fmt.Errorf("element %d = %d is beyond an int", i, e)
			}
		}
		elements = reflect.ValueOf(own)
	}
	x.Set(elements)
	if dims == 2 {
		v.FieldByName("Rows").SetInt(int64(t.Shape[0]))
		v.FieldByName("Cols").SetInt(int64(t.Shape[1]))
		v.FieldByName("Stride").SetInt(int64(t.Shape[1]))
	}
	return nil
}

// littleEndian reports whether memory has the byte order of files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// isViewed reports whether slices of the type can share the memory of a tensor.
func isViewed(slice reflect.Type) bool {
	k := slice.Elem().Kind()
	return littleEndian && (k == reflect.Float32 || k == reflect.Uint32 || k == reflect.Uint64)
}
