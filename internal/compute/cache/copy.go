package cache

import "unsafe"

// line is the size of a cache line.
const line = 64

// CopyPast copies src to dst, which is as long, past the caches where the processor can: for
// results that are larger than the caches, which then keep what they hold, and do not read dst
// first. dst must not overlap src.
//
// Stores past the caches become visible to other processors in any order. Whoever hands dst to
// another goroutine takes care of that by the way: every synchronisation of Go has an instruction
// with a lock, which waits for such stores [Intel SDM, volume 1, section 11.3.1].
func CopyPast[T float32 | float64](dst, src []T) {
	src = src[:len(dst)]
	if len(dst) == 0 {
		return
	}
	size := int(unsafe.Sizeof(dst[0]))
	head := min(int(-uintptr(unsafe.Pointer(&dst[0]))%line)/size, len(dst))
	lines := (len(dst) - head) * size / line
	end := head + lines*line/size
	copy(dst[:head], src)
	copy(dst[end:], src[end:])
	if lines > 0 {
		copyLines((*byte)(unsafe.Pointer(&dst[head])), (*byte)(unsafe.Pointer(&src[head])), lines)
	}
}
