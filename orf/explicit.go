package orf

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/projection"
)

// explicit is a projection that holds W and multiplies by it.
type explicit[T dense.Float] struct {
	w          dense.Matrix[T]
	transposed matmul.Packed[T] // Wᵀ
	back       projection.Transpose[T]
	ensemble   Ensemble // nil for frequencies of the caller's
}

// newExplicit returns the projection with the frequencies w, which it keeps, drawn from the law
// e.
func newExplicit[T dense.Float](w dense.Matrix[T], e Ensemble) *explicit[T] {
	p := &explicit[T]{w: w, ensemble: e}
	p.back.Frequencies = func() dense.Matrix[T] { return w }
	matmul.PackT(&p.transposed, w)
	return p
}

// unrounded returns a zero m×d matrix for frequencies, or an error if that takes more
// memory than the machine has.
func unrounded(m, d int) (dense.Matrix[float64], error) {
	if err := limit.Memory[float64](m, d); err != nil {
		return dense.Matrix[float64]{}, fmt.Errorf("orf: m = %d, d = %d: %w", m, d, err)
	}
	return dense.New[float64](m, d), nil
}

// rounded returns the projection with the frequencies w, each rounded to T, drawn from the law e.
func rounded[T dense.Float](w dense.Matrix[float64], e Ensemble) Projection[T] {
	return newExplicit(dense.Copy(dense.Matrix[T]{}, w), e)
}

func (p *explicit[T]) Dims() (m, d int) { return p.w.Rows, p.w.Cols }

func (p *explicit[T]) Ensemble() Ensemble { return p.ensemble }

func (p *explicit[T]) Frequencies() dense.Matrix[T] { return p.w.Clone() }

func (p *explicit[T]) Project(dst, x dense.Matrix[T]) dense.Matrix[T] {
	checkInput(x, p.w.Rows, p.w.Cols)
	dst = dense.Ensure(dst, x.Rows, p.w.Rows)
	matmul.MulPacked(1, x, &p.transposed, 0, dst, nil)
	return dst
}

func (p *explicit[T]) ProjectTiles(dst, x dense.Matrix[T], done matmul.Epilogue) {
	checkInput(x, p.w.Rows, p.w.Cols)
	checkOutput(dst, x.Rows, p.w.Rows)
	matmul.MulPacked(1, x, &p.transposed, 0, dst, done)
}

func (p *explicit[T]) ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T] {
	checkTransposedInput(z, p.w.Rows, p.w.Cols)
	dst = dense.Ensure(dst, z.Rows, p.w.Cols)
	p.back.Multiply(dst, z, nil)
	return dst
}

func (p *explicit[T]) ProjectTransposedTiles(dst, z dense.Matrix[T], done matmul.Epilogue) {
	checkTransposedInput(z, p.w.Rows, p.w.Cols)
	checkOutput(dst, z.Rows, p.w.Cols)
	p.back.Multiply(dst, z, done)
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

// checkTransposedInput panics unless the rows of z have an element for each of the
// m frequencies.
func checkTransposedInput[T dense.Float](z dense.Matrix[T], m, d int) {
	z.Check()
	if z.Cols != m {
		panic(fmt.Sprintf("orf: z is %d×%d, want n×%d for frequencies %d×%d", z.Rows, z.Cols, m, m, d))
	}
}
