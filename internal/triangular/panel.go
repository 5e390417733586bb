package triangular

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/product"
)

// SolvePanel computes Y = T⁻¹·W for a matrix that Invert has prepared, and panels Y and W of
// package product, which must not overlap: for one triangle B on the diagonal after another,
// with the rows A above it,
//
//	W_B ← W_B − T_BA·Y_A,  Y_B = T_BB⁻¹·W_B.
func SolvePanel[T dense.Float](t, y, w dense.Matrix[T]) {
	for at := 0; at < t.Rows; at += Block {
		end := min(at+Block, t.Rows)
		b := w.RowRange(at, end)
		if at > 0 {
			product.MulPanel(-1, part(t, at, end, 0, at), y.RowRange(0, at), 1, b)
		}
		if block := part(t, at, end, at, end); kept(block) {
			substitute(block, dense.Copy(y.RowRange(at, end), b))
		} else {
			product.MulPanel(1, block, b, 0, y.RowRange(at, end))
		}
	}
}

// SolvePanelTransposed computes Y = T⁻ᵀ·W, as SolvePanel does, from the last triangle to
// the first.
func SolvePanelTransposed[T dense.Float](t, y, w dense.Matrix[T]) {
	n := t.Rows
	for at := (n - 1) / Block * Block; at >= 0; at -= Block {
		end := min(at+Block, n)
		b := w.RowRange(at, end)
		if end < n {
			product.TMulPanel(-1, part(t, end, n, at, end), y.RowRange(end, n), 1, b)
		}
		if block := part(t, at, end, at, end); kept(block) {
			substituteTransposed(block, dense.Copy(y.RowRange(at, end), b))
		} else {
			product.TMulPanel(1, block, b, 0, y.RowRange(at, end))
		}
	}
}
