package semiseparable

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/internal/triangular"
)

// triangle is the triangle T_CC of a chunk C of rows, c×c and contiguous. In the form
// for products, it is T_CC itself, zeros above the diagonal. In the form for solutions,
// it is what package triangular makes of it.
type triangle[T dense.Float] struct{ dense.Matrix[T] }

// fill makes what is below the diagonal of t that of rows lo ≤ i < hi of m.
func (t triangle[T]) fill(m *Matrix[T], lo, hi int) {
	// Columns that a product takes at a time, without what is above the diagonal.
	width := matmul.PanelWidth[T](t.Rows)
	for at := 0; at < t.Rows; at += width {
		end := min(at+width, t.Rows)
		below := t.RowRange(at, t.Rows).ColRange(at, end)
		matmul.MulT(1, m.Q.RowRange(lo+at, hi), m.K.RowRange(lo+at, lo+end), 0, below)
	}
}

// complete gives t, the rows of m from lo on, the form for products.
func (t triangle[T]) complete(m *Matrix[T], lo int) {
	for i := range t.Rows {
		row := t.Row(i)
		row[i] = m.diag(lo + i)
		clear(row[i+1:])
	}
}

// prepare gives t, whose diagonal is diag, the form for solutions of panels.
func (t triangle[T]) prepare(diag []T, transposed bool) {
	s := pool.Get[triangular.Scratch[T]](&factors)
	if transposed {
		triangular.PrepareTransposed(t.Matrix, diag, s)
	} else {
		triangular.Prepare(t.Matrix, diag, s)
	}
	pool.Put(&factors, s)
}
