package triangular

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// PanelFactor is a lower-triangular matrix T that is prepared for systems with T, or for systems
// with Tᵀ, whose right sides are panels of package matmul.
type PanelFactor[T dense.Float] struct {
	t                    dense.Matrix[T]
	transposed, inverted bool
}

// Scratch is working memory. The zero value is ready for use.
type Scratch[T dense.Float] struct {
	packed matmul.Packed[T]
	rows   []T
	strips []original[T]
}

// PanelFactor returns the factor of the n×n matrix t, for systems with Tᵀ if transposed is true.
// The factor owns the memory of t, whose elements below the diagonal PanelFactor reads. diag is the
// diagonal of t, or nil for ones. For a strip B, with the rows A above and R below,
//
//	T_BA ← −T_BB⁻¹·T_BA,  T_BB ← T_BB⁻¹,  or
//	T_RB ← −T_RB·T_BB⁻¹,  T_BB ← T_BB⁻¹   for Tᵀ.
//
// If one of the triangles T_BB is ill-conditioned or its inverse overflows, t keeps all its
// elements, with the reciprocals of diag on the diagonal, and Solve uses substitution.
func (s *Scratch[T]) PanelFactor(t dense.Matrix[T], diag []T, transposed bool) PanelFactor[T] {
	f := PanelFactor[T]{t: t, transposed: transposed}
	n, strips := t.Rows, matmul.Strips[T](t.Rows)
	f.inverted = s.invert(t, diag, strips)
	for i := 0; f.inverted && i < strips; i++ {
		at, end := parallel.Share(n, strips, i), parallel.Share(n, strips, i+1)
		b := block(t, at, end, at, end)
		switch {
		case !transposed && at > 0:
			left := block(t, at, end, 0, at)
			matmul.Pack(&s.packed, left)
			matmul.MulPacked(-1, b, &s.packed, 0, left, nil)
		case transposed && end < n:
			below := block(t, end, n, at, end)
			s.rows = cache.Aligned(s.rows, below.Rows*below.Cols)
			rows := dense.Copy(dense.Of(below.Rows, below.Cols, s.rows), below)
			matmul.Pack(&s.packed, b)
			matmul.MulPacked(-1, rows, &s.packed, 0, below, nil)
		}
	}
	return f
}

// invert replaces the triangles of all strips by their inverses and returns true, or restores t and
// returns false.
func (s *Scratch[T]) invert(t dense.Matrix[T], diag []T, strips int) bool {
	if len(s.strips) < strips {
		s.strips = make([]original[T], strips)
	}
	well := true
	for i := range strips {
		at, end := parallel.Share(t.Rows, strips, i), parallel.Share(t.Rows, strips, i+1)
		well = s.strips[i].invert(block(t, at, end, at, end), pivots(diag, at, end)) && well
	}
	for i := 0; !well && i < strips; i++ {
		at, end := parallel.Share(t.Rows, strips, i), parallel.Share(t.Rows, strips, i+1)
		s.strips[i].restore(block(t, at, end, at, end))
	}
	return well
}

// Solve replaces the panel W by Y = T⁻¹·W: for each strip B, with the rows A above, Y_B =
// T_BB⁻¹·W_B − T_BB⁻¹·T_BA·Y_A, which is one product. For Tᵀ strips are in reverse order.
func (f PanelFactor[T]) Solve(w dense.Matrix[T]) {
	switch {
	case f.inverted:
		matmul.SubstitutePanel(f.t, w, f.transposed)
	case f.transposed:
		substituteTransposed(f.t, w)
	default:
		substitute(f.t, w)
	}
}
