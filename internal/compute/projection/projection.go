// Package projection has what package orf's projections offer to the rest of the module
// beyond their exported methods: results a tile at a time, and the transpose of any projection.
package projection

import (
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// Tiler is a projection that hands over XWᵀ a tile at a time, so that a tile is finished while
// it is in cache.
type Tiler[T dense.Float] interface {
	// ProjectTiles writes XWᵀ for the rows of x (n×d) into dst (n×m), which must not overlap x,
	// and calls done.Finish once for every tile. Finish may overwrite the columns of its tile.
	ProjectTiles(dst, x dense.Matrix[T], done matmul.Epilogue)
}

// TransposedTiler is a projection that hands over ZW a tile at a time.
type TransposedTiler[T dense.Float] interface {
	// ProjectTransposedTiles writes ZW for the rows of z (n×m) into dst (n×d), which must not
	// overlap z, and calls done.Finish as Tiler does.
	ProjectTransposedTiles(dst, z dense.Matrix[T], done matmul.Epilogue)
}

// Projection has the methods of orf.Projection.
type Projection[T dense.Float] interface {
	Dims() (m, d int)
	Project(dst, x dense.Matrix[T]) dense.Matrix[T]
	Frequencies() dense.Matrix[T]
}

// Transposer has the methods of orf.Transposer.
type Transposer[T dense.Float] interface {
	Projection[T]
	ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T]
}

// Transposed returns w if it is a Transposer, and otherwise w with a ProjectTransposed that
// multiplies by w.Frequencies(): O(n·m·d) operations, and a copy of m·d numbers from the first
// call on.
func Transposed[T dense.Float](w Projection[T]) Transposer[T] {
	if t, ok := w.(Transposer[T]); ok {
		return t
	}
	return &transposed[T]{Projection: w, Transpose: Transpose[T]{Frequencies: w.Frequencies}}
}

// transposed is a projection of a user's, with a transpose.
type transposed[T dense.Float] struct {
	Projection[T]
	Transpose[T]
}

// Frequencies returns W.
func (t *transposed[T]) Frequencies() dense.Matrix[T] { return t.Projection.Frequencies() }

// ProjectTransposed writes ZW into dst; a zero dst is allocated.
func (t *transposed[T]) ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T] {
	_, d := t.Dims()
	dst = dense.Ensure(dst, z.Rows, d)
	t.Multiply(dst, z, nil)
	return dst
}

// ProjectTransposedTiles writes ZW into dst and calls done.Finish for every tile.
func (t *transposed[T]) ProjectTransposedTiles(dst, z dense.Matrix[T], done matmul.Epilogue) {
	t.Multiply(dst, z, done)
}

// Transpose multiplies by W. It packs W at the first use: a projection that is never transposed
// does not take the memory. Goroutines may share it.
type Transpose[T dense.Float] struct {
	Frequencies func() dense.Matrix[T] // W, only read

	once   sync.Once
	packed matmul.Packed[T]
}

// Multiply writes ZW into dst and calls done.Finish for every tile, if done is not nil.
func (t *Transpose[T]) Multiply(dst, z dense.Matrix[T], done matmul.Epilogue) {
	t.once.Do(func() { matmul.Pack(&t.packed, t.Frequencies()) })
	matmul.MulPacked(1, z, &t.packed, 0, dst, done)
}
