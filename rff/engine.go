package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/orf"
)

// blockRows is the number of rows that are projected together and finished
// while they are in cache.
const blockRows = 64

// engine computes a map row by row, a block of rows at a time.
type engine[T dense.Float] struct {
	w       orf.Projection[T] // nil for a map without frequencies
	in, out int
}

// newEngine returns the engine of a map with per features for each of the m
// frequencies of w.
func newEngine[T dense.Float](w orf.Projection[T], per int) (engine[T], error) {
	if w == nil {
		return engine[T]{}, fmt.Errorf("rff: w is nil, want a projection")
	}
	m, d := w.Dims()
	if m < 1 || d < 1 {
		return engine[T]{}, fmt.Errorf("rff: w is %d×%d, want at least 1×1", m, d)
	}
	return engine[T]{w: w, in: d, out: per * m}, nil
}

// frequencies returns m, the number of leading elements of a row of features
// that hold projections when row functions see it.
func (e engine[T]) frequencies() int {
	m, _ := e.w.Dims()
	return m
}

// run calls row(φ, x) for every row x of x and φ of dst. When there are
// frequencies, φ[:m] holds Wx, and row overwrites it by the features: the
// projections of a block lie where its features will, so that nothing but dst
// is written.
func (e engine[T]) run(dst, x dense.Matrix[T], row func(phi, x []T)) dense.Matrix[T] {
	x.Check()
	if x.Cols != e.in {
		panic(fmt.Sprintf("rff: x is %d×%d, want %d×%d", x.Rows, x.Cols, x.Rows, e.in))
	}
	dst = dense.Ensure(dst, x.Rows, e.out)
	parallel.Rows(x.Rows, blockRows, func(lo, hi int) {
		if e.w != nil {
			e.w.Project(dst.RowRange(lo, hi).ColRange(0, e.frequencies()), x.RowRange(lo, hi))
		}
		for i := lo; i < hi; i++ {
			row(dst.Row(i), x.Row(i))
		}
	})
	return dst
}
