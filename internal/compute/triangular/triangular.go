// Package triangular solves systems of small, dense, lower-triangular matrices in blocks. It
// inverts only triangles of order Block or less on the diagonal, and only if the inverse is as
// accurate as substitution [Skeel 1979: docs/references.md]. All other operations are matrix
// products. A Factor solves systems with T and Tᵀ for right sides of any shape, a PanelFactor
// systems with either for panels of package matmul.
package triangular

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Block is the order of the triangles on the diagonal that a Factor inverts.
const Block = matmul.MaxInvert

// Factor is a lower-triangular matrix T that is prepared for systems with T and Tᵀ. The zero value
// is ready for Set. After Set goroutines may share a Factor.
type Factor[T dense.Float] struct {
	t        dense.Matrix[T]
	inverted []bool // for each triangle of order Block on the diagonal
}

var packs pool.Pair[matmul.Packed[float32], matmul.Packed[float64]]

// Set sets f to the factor of the n×n matrix t. f owns the memory of t until the next call. diag is
// the diagonal of t, or nil for ones. Set does not read the elements of t on and above the
// diagonal. Set replaces each triangle of order Block on the diagonal by its inverse; the last
// triangle may be smaller. If a triangle is ill-conditioned or its inverse overflows, Set keeps its
// elements and stores the reciprocals of diag on the diagonal. A solution by such an inverse would
// have a residual that grows with the condition number, while the residual of substitution is a few
// units of rounding.
func (f *Factor[T]) Set(t dense.Matrix[T], diag []T) {
	f.t, f.inverted = t, f.inverted[:0]
	for at := 0; at < t.Rows; at += Block {
		end := min(at+Block, t.Rows)
		var before original[T]
		b := block(t, at, end, at, end)
		inverted := before.invert(b, pivots(diag, at, end))
		if !inverted {
			before.restore(b)
		}
		f.inverted = append(f.inverted, inverted)
	}
}

// Use sets f to the factor of the matrix of other, until the next call of Set on other.
func (f *Factor[T]) Use(other *Factor[T]) { f.t, f.inverted = other.t, other.inverted }

// Solve replaces W by T⁻¹·W: for each triangle B on the diagonal, with the rows R below, W_B ←
// T_BB⁻¹·W_B and W_R ← W_R − T_RB·W_B.
func (f *Factor[T]) Solve(w dense.Matrix[T]) {
	n, packed := f.t.Rows, pool.Get[matmul.Packed[T]](&packs)
	defer pool.Put(&packs, packed)
	for i, inverted := range f.inverted {
		at := i * Block
		end := min(at+Block, n)
		t, b := block(f.t, at, end, at, end), w.RowRange(at, end)
		if inverted {
			matmul.Pack(packed, b)
			matmul.MulPacked(1, t, packed, 0, b, nil)
		} else {
			substitute(t, b)
		}
		if end < n {
			matmul.Mul(-1, block(f.t, end, n, at, end), b, 1, w.RowRange(end, n))
		}
	}
}

// SolveTransposed replaces W by T⁻ᵀ·W as Solve does, from the last triangle to the first.
func (f *Factor[T]) SolveTransposed(w dense.Matrix[T]) {
	packed := pool.Get[matmul.Packed[T]](&packs)
	defer pool.Put(&packs, packed)
	for i, inverted := range slices.Backward(f.inverted) {
		at := i * Block
		end := min(at+Block, f.t.Rows)
		t, b := block(f.t, at, end, at, end), w.RowRange(at, end)
		if inverted {
			matmul.Pack(packed, b)
			matmul.TMulPacked(1, t, packed, 0, b, nil)
		} else {
			substituteTransposed(t, b)
		}
		if at > 0 {
			matmul.TMul(-1, block(f.t, at, end, 0, at), b, 1, w.RowRange(0, at))
		}
	}
}

func block[T dense.Float](t dense.Matrix[T], r0, r1, c0, c1 int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: r1 - r0, Cols: c1 - c0, Data: t.Data[r0*t.Stride+c0:], Stride: t.Stride}
}

func pivots[T dense.Float](diag []T, at, end int) []T {
	if diag == nil {
		return nil
	}
	return diag[at:end]
}
