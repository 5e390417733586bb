// Package cache tells how large the second cache of this processor is, and writes past the caches.
package cache

// L2 is the size in bytes of the second cache, which holds data and belongs to one core or a few. It
// is a common size where the processor does not tell: on other architectures than amd64, and under
// the build tags purego and noasm.
var L2 = l2()

// common is a size that most processors have or exceed.
const common = 512 << 10
