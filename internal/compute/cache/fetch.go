package cache

import "unsafe"

// Fetch prefetches the lines of x, if the processor has such an instruction.
func Fetch[E any](x []E) {
	if len(x) > 0 {
		first := uintptr(unsafe.Pointer(&x[0])) % Line
		fetchLines((*byte)(unsafe.Pointer(&x[0])), int((first+uintptr(len(x))*unsafe.Sizeof(x[0])+Line-1)/Line))
	}
}
