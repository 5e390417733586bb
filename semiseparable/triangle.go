package semiseparable

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

type triangle[T dense.Float] struct {
	data   []T // the elements of T_CC below the diagonal, in a c×c matrix
	factor triangular.PanelFactor[T]
}

func (t *triangle[T]) set(m *Matrix[T], lo, hi int, transposed bool) {
	n := hi - lo
	t.data = scratch.Resize(t.data, n*n)
	matrix := dense.Of(n, n, t.data)
	m.below(matrix, lo, hi)
	s := pool.Get[triangular.Scratch[T]](&factors)
	t.factor = s.PanelFactor(matrix, m.diagRange(lo, hi), transposed)
	pool.Put(&factors, s)
}

// The elements of t on and above the diagonal are undefined.
func (m *Matrix[T]) below(t dense.Matrix[T], lo, hi int) {
	// A product for each panel of columns skips most of the rows above the diagonal.
	width := matmul.PanelWidth[T](t.Rows)
	for at := 0; at < t.Rows; at += width {
		end := min(at+width, t.Rows)
		b := t.RowRange(at, t.Rows).ColRange(at, end)
		matmul.MulT(1, m.Q.RowRange(lo+at, hi), m.K.RowRange(lo+at, lo+end), 0, b)
	}
}
