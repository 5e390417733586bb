package triangular

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/parallel"
)

// Scratch is working memory. The zero value is ready for use.
type Scratch[T dense.Float] struct {
	packed  matmul.Packed[T]
	rows    []T
	inverse []original[T] // what the inverses of strips have replaced
}

// Prepare makes the lower-triangular matrix t what SolvePanel needs. Its rows are cut into the strips
// of package matmul; for a strip B, with the rows A above it,
//
//	T_BA ← −T_BB⁻¹·T_BA,  T_BB ← T_BB⁻¹,
//
// zeros above the diagonal of T_BB included. The diagonal of t is diag, ones for nil; what
// is on the diagonal of t and above is not read, and what is above those triangles, but for
// the second element of t, is left as it is.
//
// If one of the triangles T_BB is ill-conditioned, as Invert says, all of t stays as it is,
// with the reciprocals of diag on its diagonal, and SolvePanel goes row by row.
func Prepare[T dense.Float](t dense.Matrix[T], diag []T, s *Scratch[T]) {
	strips := matmul.Strips[T](t.Rows)
	if !s.invert(t, diag, strips) {
		return
	}
	for i := range strips {
		if at, end := parallel.Share(t.Rows, strips, i), parallel.Share(t.Rows, strips, i+1); at > 0 {
			left := part(t, at, end, 0, at)
			matmul.Pack(&s.packed, left)
			matmul.MulPacked(-1, part(t, at, end, at, end), &s.packed, 0, left, nil)
		}
	}
}

// PrepareTransposed makes t what SolvePanelTransposed needs: as Prepare does, but with the rows
// R below the strip B,
//
//	T_RB ← −T_RB·T_BB⁻¹.
func PrepareTransposed[T dense.Float](t dense.Matrix[T], diag []T, s *Scratch[T]) {
	n := t.Rows
	strips := matmul.Strips[T](n)
	if !s.invert(t, diag, strips) {
		return
	}
	for i := range strips {
		if at, end := parallel.Share(n, strips, i), parallel.Share(n, strips, i+1); end < n {
			below := part(t, end, n, at, end)
			s.rows = matmul.Aligned(s.rows, below.Rows*below.Cols)
			rows := dense.Copy(dense.Of(below.Rows, below.Cols, s.rows), below)
			matmul.Pack(&s.packed, part(t, at, end, at, end))
			matmul.MulPacked(-1, rows, &s.packed, 0, below, nil)
		}
	}
}

// invert replaces the triangles of all strips by their inverses and returns true, or keeps t.
func (s *Scratch[T]) invert(t dense.Matrix[T], diag []T, strips int) bool {
	if len(s.inverse) < strips {
		s.inverse = make([]original[T], strips)
	}
	strip := func(i int) (dense.Matrix[T], []T) {
		at, end := parallel.Share(t.Rows, strips, i), parallel.Share(t.Rows, strips, i+1)
		if diag == nil {
			return part(t, at, end, at, end), nil
		}
		return part(t, at, end, at, end), diag[at:end]
	}
	well := true
	for i := range strips {
		b, pivots := strip(i)
		well = s.inverse[i].invert(b, pivots) && well
	}
	if t.Rows > 1 {
		t.Data[1] = 0
	}
	if well {
		return true
	}
	for i := range strips {
		b, _ := strip(i)
		s.inverse[i].restore(b)
	}
	t.Data[1] = mark
	return false
}

// SolvePanel replaces the panel W of package matmul by Y = T⁻¹·W for a matrix that Prepare has
// prepared: for one strip B after another, with the rows A above it,
//
//	Y_B = T_BB⁻¹·W_B − T_BB⁻¹·T_BA·Y_A,
//
// which is one product with what is in the panel.
func SolvePanel[T dense.Float](t, w dense.Matrix[T]) {
	if kept(t) {
		substitute(t, w)
		return
	}
	matmul.SubstitutePanel(t, w)
}

// SolvePanelTransposed replaces W by Y = T⁻ᵀ·W for a matrix that PrepareTransposed has prepared, as
// SolvePanel does, from the last strip to the first.
func SolvePanelTransposed[T dense.Float](t, w dense.Matrix[T]) {
	if kept(t) {
		substituteTransposed(t, w)
		return
	}
	matmul.SubstitutePanelTransposed(t, w)
}
