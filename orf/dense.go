package orf

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/matmul"
)

// explicit is a projection that holds W and multiplies by it.
type explicit[T dense.Float] struct {
	w          dense.Matrix[T]
	transposed matmul.Packed[T] // Wᵀ
	ensemble   Ensemble
	transposer[T]
}

// newExplicit returns the projection with the frequencies w, which it keeps, drawn
// from the given law.
func newExplicit[T dense.Float](w dense.Matrix[T], law Ensemble) *explicit[T] {
	e := &explicit[T]{w: w, ensemble: law}
	e.m, e.d = w.Rows, w.Cols
	e.frequencies = func() dense.Matrix[T] { return w }
	matmul.PackT(&e.transposed, w)
	return e
}

// Of returns the projection with the m×d frequencies w of your own, of which
// it keeps a copy, twice, and a third time once it has been transposed. Project is a
// matrix product, O(n·m·d). It returns an error
// if w has no rows or no columns.
func Of[T dense.Float](w dense.Matrix[T]) (Projection[T], error) {
	w.Check()
	if w.Rows < 1 || w.Cols < 1 {
		return nil, fmt.Errorf("orf: w is %d×%d, want at least 1×1", w.Rows, w.Cols)
	}
	return newExplicit(w.Clone(), Ensemble{Kind: Given}), nil
}

// unrounded returns a zero m×d matrix for frequencies, or an error if that takes more
// memory than the machine has.
func unrounded(m, d int) (dense.Matrix[float64], error) {
	if err := limit.Memory[float64](m, d); err != nil {
		return dense.Matrix[float64]{}, fmt.Errorf("orf: m = %d, d = %d: %w", m, d, err)
	}
	return dense.New[float64](m, d), nil
}

// rounded returns the projection with the frequencies w, each rounded to T, drawn
// from the given law.
func rounded[T dense.Float](w dense.Matrix[float64], law Ensemble) Projection[T] {
	return newExplicit(dense.Convert(dense.Matrix[T]{}, w), law)
}

func (e *explicit[T]) Dims() (m, d int) { return e.w.Rows, e.w.Cols }

func (e *explicit[T]) Frequencies() dense.Matrix[T] { return e.w.Clone() }

func (e *explicit[T]) Project(dst, x dense.Matrix[T]) dense.Matrix[T] {
	checkInput(x, e.w.Rows, e.w.Cols)
	dst = dense.Ensure(dst, x.Rows, e.w.Rows)
	matmul.MulPacked(1, x, &e.transposed, 0, dst, nil)
	return dst
}

func (e *explicit[T]) ProjectTiles(dst, x dense.Matrix[T], done Epilogue) {
	checkInput(x, e.w.Rows, e.w.Cols)
	checkOutput(dst, x.Rows, e.w.Rows)
	matmul.MulPacked(1, x, &e.transposed, 0, dst, done)
}

// checkOutput panics unless dst is n×m.
func checkOutput[T dense.Float](dst dense.Matrix[T], n, m int) {
	dst.Check()
	if dst.Rows != n || dst.Cols != m {
		panic(fmt.Sprintf("orf: dst is %d×%d, want %d×%d", dst.Rows, dst.Cols, n, m))
	}
}

// checkInput panics unless the rows of x are points of R^d.
func checkInput[T dense.Float](x dense.Matrix[T], m, d int) {
	x.Check()
	if x.Cols != d {
		panic(fmt.Sprintf("orf: x is %d×%d, want n×%d for frequencies %d×%d", x.Rows, x.Cols, d, m, d))
	}
}
