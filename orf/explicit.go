package orf

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

type explicit[T dense.Float] struct {
	applied[T]
	w          dense.Matrix[T]
	transposed matmul.Packed[T] // Wᵀ
	back       transpose[T]
}

// newExplicit returns the projection with the frequencies w, which it keeps, drawn from the law e.
func newExplicit[T dense.Float](w dense.Matrix[T], e Ensemble) *explicit[T] {
	p := &explicit[T]{w: w}
	p.back.frequencies = func() dense.Matrix[T] { return w }
	matmul.PackT(&p.transposed, w)
	p.applied = applied[T]{m: w.Rows, d: w.Cols, ensemble: e, transpose: p.back.multiply,
		project: func(dst, x dense.Matrix[T], done matmul.Epilogue) {
			matmul.MulPacked(1, x, &p.transposed, 0, dst, done)
		}}
	return p
}

func unrounded(m, d int) (dense.Matrix[float64], error) {
	if err := limit.Memory[float64](m, d); err != nil {
		return dense.Matrix[float64]{}, fmt.Errorf("orf: m = %d, d = %d: %w", m, d, err)
	}
	return dense.New[float64](m, d), nil
}

func rounded[T dense.Float](w dense.Matrix[float64], e Ensemble) Projection[T] {
	return newExplicit(dense.Copy(dense.Matrix[T]{}, w), e)
}

func (p *explicit[T]) Frequencies() dense.Matrix[T] { return p.w.Clone() }
