package archive

import (
	"encoding/binary"
	"unsafe"
)

// viewed sets x to the elements of data, which share its memory. It returns false and leaves x if
// the processor is big-endian or data is not aligned.
func viewed(x *[]float32, data []byte) bool {
	const size = 4
	at := unsafe.Pointer(unsafe.SliceData(data))
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 || uintptr(at)%size != 0 || len(data) == 0 {
		return false
	}
	*x = unsafe.Slice((*float32)(at), len(data)/size)
	return true
}
