// Package cache tells how large the caches of this processor are and which rows meet in them, and
// writes past the caches.
//
// Block sizes that follow from these sizes must not change results: a sum whose order depends on a
// block size has one that is the same on all machines.
package cache

// L1 and L2 are the sizes in bytes of the first cache, which holds data of one core, and of the
// second cache, which belongs to one core or a few. They are common sizes where the processor does
// not tell: on other architectures than amd64, and under the build tags purego and noasm.
var L1, L2 = sizeOf(1, 32<<10), sizeOf(2, 512<<10)

// Crowded reports whether so many rows, which are stride bytes apart, put each other out of the
// first cache, however few of their elements are read. It is taken to be that of amd64: a line has
// one of 64 places, which its address within 4 KiB tells, and there is room for 8 lines at a place.
func Crowded(rows, stride int) bool {
	places := 64
	for ; places > 1 && stride%(4096/places*2) == 0; places /= 2 {
	}
	return 8*places < rows
}
