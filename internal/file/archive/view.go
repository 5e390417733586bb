package archive

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/seed-feabd252/randfeat/safetensors"
)

// littleEndian reports whether memory has the byte order of files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// bytesOf returns the elements as little-endian bytes, an int as 8 bytes. The bytes share the
// memory of x where the memory has this form.
func bytesOf[E Element](x []E) []byte {
	if ints, ok := any(x).([]int); ok {
		data := make([]byte, 0, 8*len(ints))
		for _, e := range ints {
			data = binary.LittleEndian.AppendUint64(data, uint64(e))
		}
		return data
	}
	if littleEndian {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(E))))
	}
	data, err := binary.Append(nil, binary.LittleEndian, x)
	if err != nil {
		panic(err) // all elements have a fixed size
	}
	return data
}

// elementsOf returns the elements of bytes, in new memory.
func elementsOf[E Element](data []byte) ([]E, error) {
	if _, ok := any(*new(E)).(int); !ok {
		x := make([]E, len(data)/int(unsafe.Sizeof(*new(E))))
		_, err := binary.Decode(data, binary.LittleEndian, x)
		return x, err
	}
	x := make([]E, len(data)/8)
	for i := range x {
		e := int64(binary.LittleEndian.Uint64(data[8*i:]))
		if x[i] = E(e); int64(x[i]) != e {
			return nil, fmt.Errorf("element %d = %d is beyond an int", i, e)
		}
	}
	return x, nil
}

// viewed sets v to the elements of the tensor, which share its memory, if v is a pointer to a slice
// of float32, uint32 or uint64. It returns false and leaves v if the type of the tensor is another
// one, if the processor is big-endian or if the data are not aligned.
func viewed(v any, t safetensors.Tensor) bool {
	switch x := v.(type) {
	case *[]float32:
		return viewedAs(x, t)
	case *[]uint32:
		return viewedAs(x, t)
	case *[]uint64:
		return viewedAs(x, t)
	}
	return false
}

func viewedAs[E Element](x *[]E, t safetensors.Tensor) bool {
	at, size := unsafe.Pointer(unsafe.SliceData(t.Data)), unsafe.Sizeof(*new(E))
	if !littleEndian || t.DType != dtypeOf[E]() || len(t.Shape) != 1 || uintptr(at)%size != 0 || len(t.Data) == 0 {
		return false
	}
	*x = unsafe.Slice((*E)(at), len(t.Data)/int(size))
	return true
}
