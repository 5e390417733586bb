// Package scratch holds working memory for intermediate results.
package scratch

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
)

// Buffer is memory for the rows of a matrix. It grows on demand and never shrinks. The zero value
// is empty.
type Buffer[T dense.Float] struct {
	Data         []T
	cols, stride int
}

// Shape sets the size of the buffer to rows×cols elements, which are then undefined.
func (b *Buffer[T]) Shape(rows, cols int) {
	b.cols, b.stride = cols, Stride[T](cols)
	b.Data = Resize(b.Data, rows*b.stride)
}

func (b *Buffer[T]) Rows(n int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: n, Cols: b.cols, Data: b.Data[:n*b.stride], Stride: b.stride}
}

// Stride returns a stride for rows of cols elements. It is an odd number of cache lines, so that
// the elements of a column map to all sets of the caches.
func Stride[T dense.Float](cols int) int {
	const line = 64
	var x T
	perLine := line / int(unsafe.Sizeof(x))
	return ((cols+perLine-1)/perLine | 1) * perLine
}

// Resize returns x[:n] if x has the capacity, and a new slice of n elements otherwise.
func Resize[E any](x []E, n int) []E {
	if cap(x) < n {
		return make([]E, n)
	}
	return x[:n]
}
