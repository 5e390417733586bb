package archive

import (
	"encoding/binary"
	"unsafe"
)

// viewed makes x the elements in data, in its memory, and reports whether this machine can: it stores
// numbers as files do, and data begins where numbers may.
func viewed(x *[]float32, data []byte) bool {
	const size = 4
	at := unsafe.Pointer(unsafe.SliceData(data))
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 || uintptr(at)%size != 0 || len(data) == 0 {
		return false
	}
	*x = unsafe.Slice((*float32)(at), len(data)/size)
	return true
}
