package cache

import "unsafe"

// CopyPast copies src to dst, past the caches on processors that have such stores, for results that
// are larger than the caches. src is at least as long as dst, and dst must not overlap src. Stores
// past the caches become visible to other processors in any order. Synchronisation between
// goroutines waits for these stores, because it has an instruction with a lock [Intel SDM, volume
// 1, section 11.3.1].
func CopyPast[T float32 | float64](dst, src []T) {
	src = src[:len(dst)]
	if len(dst) == 0 {
		return
	}
	size := int(unsafe.Sizeof(dst[0]))
	head := min(int(-uintptr(unsafe.Pointer(&dst[0]))%Line)/size, len(dst))
	lines := (len(dst) - head) * size / Line
	end := head + lines*Line/size
	copy(dst[:head], src)
	copy(dst[end:], src[end:])
	if lines > 0 {
		copyLines((*byte)(unsafe.Pointer(&dst[head])), (*byte)(unsafe.Pointer(&src[head])), lines)
	}
}
