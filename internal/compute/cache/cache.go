// Package cache returns the sizes of the caches of this processor, and has loads and stores that
// respect them. Block sizes that follow from the sizes of caches must not change results: if the
// order of a sum depends on a block size, the block size is a constant.
package cache

// L1 and L2 are the sizes in bytes of the first cache for data and of the second cache. If the
// processor does not report its caches, L1 and L2 are common sizes. So they are on all
// architectures but amd64, and under the build tags purego and noasm.
var L1, L2 = sizeOf(1, 32<<10), sizeOf(2, 512<<10)

// Crowded reports whether so many rows, stride bytes apart, displace each other from the first
// cache, however few elements of a row are read. Crowded assumes the first cache of amd64, with 64
// sets of 8 lines: the address of a line within 4 KiB determines its set.
func Crowded(rows, stride int) bool {
	places := 64
	for ; places > 1 && stride%(4096/places*2) == 0; places /= 2 {
	}
	return 8*places < rows
}
