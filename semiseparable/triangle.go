package semiseparable

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/product"
	"github.com/seed-feabd252/randfeat/internal/triangular"
)

// triangle is the triangle T_CC of a chunk C of rows, c×c and contiguous. In the form
// for products, it is T_CC itself, zeros above the diagonal. In the form for solutions,
// it is what triangular.Invert makes of it.
type triangle[T dense.Float] struct{ dense.Matrix[T] }

// fill makes t the triangle of rows lo ≤ i < hi of m.
func (t triangle[T]) fill(m *Matrix[T], lo, hi int, solving bool) {
	// Columns that a product takes at a time, without what is above the diagonal.
	width := product.PanelWidth[T](t.Rows)
	for at := 0; at < t.Rows; at += width {
		end := min(at+width, t.Rows)
		below := t.RowRange(at, t.Rows).ColRange(at, end)
		product.MulT(1, m.Q.RowRange(lo+at, hi), m.K.RowRange(lo+at, lo+end), 0, below)
	}
	if solving {
		triangular.Invert(t.Matrix, m.diagRange(lo, hi))
		return
	}
	for i := range t.Rows {
		row := t.Row(i)
		row[i] = m.diag(lo + i)
		clear(row[i+1:])
	}
}
