package archive

import (
	"encoding/binary"
	"unsafe"

	"github.com/seed-feabd252/randfeat/safetensors"
)

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// viewOf returns bytes in the memory of v if the byte order is that of files.
func viewOf(v any) (data []byte, ok bool) {
	switch x := v.(type) {
	case []float32:
		return bytesOf(x), littleEndian
	case []uint32:
		return bytesOf(x), littleEndian
	case []uint64:
		return bytesOf(x), littleEndian
	}
	return nil, false
}

func bytesOf[E float32 | uint32 | uint64](x []E) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(E))))
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

func viewedAs[E float32 | uint32 | uint64](x *[]E, t safetensors.Tensor) bool {
	at, size := unsafe.Pointer(unsafe.SliceData(t.Data)), unsafe.Sizeof(*new(E))
	if !littleEndian || t.DType != dtypeOf(*x) || len(t.Shape) != 1 || uintptr(at)%size != 0 || len(t.Data) == 0 {
		return false
	}
	*x = unsafe.Slice((*E)(at), len(t.Data)/int(size))
	return true
}
