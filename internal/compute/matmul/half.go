package matmul

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
)

// Half is a row-major matrix without gaps of binary16, or bfloat16 if BFloat is set.
type Half struct {
	Rows, Cols int
	Data       []uint16
	BFloat     bool
}

// Widen writes elements of 16 bits to dst, which has the length of src.
func Widen[T Float](dst []T, src []uint16, bfloat bool) {
	k, done := best[T](), 0
	if widen := k.widens[format(bfloat)]; widen != nil && len(src) >= k.lanes {
		n := len(src) / k.lanes
		widen(n, &dst[0], &src[0])
		done = n * k.lanes
	}
	dst, src = dst[done:], src[done:]
	first := unsafe.Pointer(unsafe.SliceData(src))
	if bfloat {
		half.Decode(dst, unsafe.Slice((*half.BFloat16)(first), len(src)))
	} else {
		half.Decode(dst, unsafe.Slice((*half.Float16)(first), len(src)))
	}
}

func format(bfloat bool) int {
	if bfloat {
		return 1
	}
	return 0
}

// widened returns columns at ≤ j < to and rows lo ≤ l < lo+n of a B whose columns have adjacent
// elements, as elements of T in memory, and the distance of columns. It uses memory for elements of
// 16 bits alone.
func widened[T Float](b *operand[T], memory *[]T, at, to, lo, n int) (elements []T, stride int) {
	if b.half == nil {
		return b.data[at*b.stride+lo:], b.stride
	}
	*memory = cache.Aligned(*memory, (to-at)*n)
	for j := at; j < to; j++ {
		Widen((*memory)[(j-at)*n:][:n], b.half[j*b.stride+lo:][:n], b.bfloat)
	}
	return *memory, n
}
