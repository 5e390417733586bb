// Package triangular solves systems of small, dense, lower-triangular matrices, by
// substitution in blocks: only triangles of order Block or less on the diagonal are inverted
// explicitly, and only those whose inverse is as good as substitution; the rest is matrix
// products.
//
// # References
//
//   - [Skeel 1979] R. D. Skeel: Scaling for numerical stability in Gaussian elimination.
//     Journal of the ACM 26(3).
package triangular

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
)

// Block is the order of the triangles on the diagonal that Invert inverts explicitly. The
// strips of package matmul, which Prepare inverts, have fewer rows.
const Block = matmul.MaxInvert

// Invert replaces each triangle of order Block (the last may be smaller) on the diagonal of
// the lower-triangular n×n matrix t by its inverse, zeros above its diagonal included. The
// diagonal of t is diag, ones for nil; what is on the diagonal of t and above is not read,
// and what is above those triangles is left as it is.
//
// A triangle that is ill-conditioned, or whose inverse overflows, stays as it is, with the
// reciprocals of diag on its diagonal and a mark above: an inverse would solve it with a
// residual that grows with its condition number, where substitution has none to speak of.
func Invert[T dense.Float](t dense.Matrix[T], diag []T) {
	for at := 0; at < t.Rows; at += Block {
		end := min(at+Block, t.Rows)
		var pivots []T
		if diag != nil {
			pivots = diag[at:end]
		}
		var before original[T]
		if block := part(t, at, end, at, end); !before.invert(block, pivots) {
			before.restore(block)
			block.Data[1] = mark
		}
	}
}

// Solve replaces W by T⁻¹·W for a matrix that Invert has prepared, by substitution: for one
// triangle B on the diagonal after another
//
//	W_B ← T_BB⁻¹·W_B,  W_R ← W_R − T_RB·W_B for the rows R below.
//
// p is scratch memory.
func Solve[T dense.Float](t, w dense.Matrix[T], p *matmul.Packed[T]) {
	n := t.Rows
	for at := 0; at < n; at += Block {
		end := min(at+Block, n)
		b := w.RowRange(at, end)
		if block := part(t, at, end, at, end); kept(block) {
			substitute(block, b)
		} else {
			matmul.Pack(p, b)
			matmul.MulPacked(1, block, p, 0, b, nil)
		}
		if end < n {
			matmul.Pack(p, b)
			matmul.MulPacked(-1, part(t, end, n, at, end), p, 1, w.RowRange(end, n), nil)
		}
	}
}

// SolveTransposed replaces W by T⁻ᵀ·W, as Solve does, from the last triangle to the first.
func SolveTransposed[T dense.Float](t, w dense.Matrix[T], p *matmul.Packed[T]) {
	n := t.Rows
	for at := (n - 1) / Block * Block; at >= 0; at -= Block {
		end := min(at+Block, n)
		b := w.RowRange(at, end)
		if block := part(t, at, end, at, end); kept(block) {
			substituteTransposed(block, b)
		} else {
			matmul.Pack(p, b)
			matmul.TMulPacked(1, block, p, 0, b, nil)
		}
		if at > 0 {
			matmul.Pack(p, b)
			matmul.TMulPacked(-1, part(t, at, end, 0, at), p, 1, w.RowRange(0, at), nil)
		}
	}
}

// part returns rows r0 ≤ i < r1 and columns c0 ≤ j < c1.
func part[T dense.Float](t dense.Matrix[T], r0, r1, c0, c1 int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: r1 - r0, Cols: c1 - c0, Data: t.Data[r0*t.Stride+c0:], Stride: t.Stride}
}
