package orf

import (
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// Transposed returns the argument w itself if w is a Transposer. To a w that is no Transposer,
// Transposed adds a method ProjectTransposed that multiplies by the matrix w.Frequencies(), of
// which the first call keeps a copy. Transposed panics if w is nil.
func Transposed[T dense.Float](w Projection[T]) Transposer[T] {
	if w == nil {
		panic("orf: w is nil, want a projection")
	}
	if t, ok := w.(Transposer[T]); ok {
		return t
	}
	return &transposed[T]{Projection: w, transpose: transpose[T]{frequencies: w.Frequencies}}
}

type transposed[T dense.Float] struct {
	Projection[T]
	transpose[T]
}

func (t *transposed[T]) ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T] {
	_, d := t.Shape()
	dst = dense.Ensure(dst, z.Rows, d)
	t.multiply(dst, z, nil)
	return dst
}

func (t *transposed[T]) ProjectTransposedTiles(dst, z dense.Matrix[T], done matmul.Epilogue) {
	t.multiply(dst, z, done)
}

// transpose packs W at the first use: a projection that is never transposed takes no memory for it.
type transpose[T dense.Float] struct {
	frequencies func() dense.Matrix[T] // W, only read

	once   sync.Once
	packed matmul.Packed[T]
}

func (t *transpose[T]) multiply(dst, z dense.Matrix[T], done matmul.Epilogue) {
	t.once.Do(func() { matmul.Pack(&t.packed, t.frequencies()) })
	matmul.MulPacked(1, z, &t.packed, 0, dst, done)
}
