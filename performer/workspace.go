package performer

import "github.com/seed-feabd252/randfeat/dense"

// workspace is the scratch memory of one goroutine: the (log-)features of a
// block of queries and keys, the extended values, the sums and the scores.
// Nothing in it grows with the number of tokens.
type workspace[T dense.Float] struct {
	queries, keys rowBuffer[T] // block×m
	values, out   rowBuffer[T] // block×width
	scores        rowBuffer[T] // block×block
	peaks         []T          // m
	exponents     []int32      // m
	scales        []scale      // block
}

// workspace takes a workspace for values of dimension dv from the pool.
func (a *Attention[T]) workspace(dv int) *workspace[T] {
	width := a.width(dv)
	if w, ok := a.workspaces.Get().(*workspace[T]); ok {
		w.values.resize(width)
		w.out.resize(width)
		return w
	}
	return &workspace[T]{
		queries: newRowBuffer[T](a.m), keys: newRowBuffer[T](a.m),
		values: newRowBuffer[T](width), out: newRowBuffer[T](width),
		scores: newRowBuffer[T](block),
		peaks:  make([]T, a.m), exponents: make([]int32, a.m),
		scales: make([]scale, block),
	}
}

// width returns the number of columns of the sums for values of dimension dv.
func (a *Attention[T]) width(dv int) int {
	if a.opts.Unnormalised {
		return dv
	}
	return dv + 1
}

// rowBuffer holds up to block rows of some width.
type rowBuffer[T dense.Float] struct {
	data []T
	cols int
}

func newRowBuffer[T dense.Float](cols int) rowBuffer[T] {
	return rowBuffer[T]{data: make([]T, block*cols), cols: cols}
}

// resize makes the rows cols wide.
func (b *rowBuffer[T]) resize(cols int) {
	if need := block * cols; cap(b.data) < need {
		b.data = make([]T, need)
	} else {
		b.data = b.data[:need]
	}
	b.cols = cols
}

// rows returns the first n rows, whatever they hold.
func (b *rowBuffer[T]) rows(n int) dense.Matrix[T] {
	return dense.Of(n, b.cols, b.data[:n*b.cols])
}
