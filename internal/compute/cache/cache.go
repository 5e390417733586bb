// Package cache tells how large the caches of this processor are and which rows meet in them, and writes
// past the caches.
//
// Block sizes that follow from these sizes must not change results: a sum whose order depends on a
// block size has one that is the same on all machines.
package cache

// L1 and L2 are the sizes in bytes of the first cache, which holds data of one core, and of the second
// cache, which belongs to one core or a few. They are common sizes where the processor does not tell:
// on other architectures than amd64, and under the build tags purego and noasm.
var L1, L2 = sizeOf(1, 32<<10), sizeOf(2, 512<<10)

// Crowded reports whether rows that are so many bytes apart share few places of the first cache, which
// finds the place of a line by its address within 4 KiB: there is room for some eight such rows, or twice
// as many, whatever the size of the cache is. Work on more rows than that takes copies of them.
func Crowded(stride int) bool { return stride%2048 == 0 }
