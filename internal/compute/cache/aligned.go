package cache

import "unsafe"

const Line = 64

// Aligned returns n elements of any values that begin at a cache line. x is nil or a result of
// Aligned, whose memory is used again. The size of an element is a power of two up to Line.
func Aligned[E any](x []E, n int) []E {
	if cap(x) >= n {
		return x[:n]
	}
	size := unsafe.Sizeof(*new(E))
	x = make([]E, n+Line/int(size))
	return x[-uintptr(unsafe.Pointer(&x[0]))%Line/size:][:n]
}
