package orf

import (
	"fmt"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
)

// Transposer is a Projection that also applies its transpose, which is what takes
// gradients with respect to projections back to gradients with respect to
// points. The projections of this package are Transposers; Transposable makes one
// of any other.
type Transposer[T dense.Float] interface {
	Projection[T]

	// ProjectTransposed writes ZW (n×d) for the rows of z (n×m) into dst and
	// returns it; a zero dst is allocated. dst must not overlap z. It panics if a
	// shape does not fit.
	ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T]
}

// TransposedTiler is a Transposer that hands over its results a tile at a time, as
// a Tiler does. The projections of this package are TransposedTilers.
type TransposedTiler[T dense.Float] interface {
	Transposer[T]

	// ProjectTransposedTiles is ProjectTransposed into a dst that is n×d, and
	// calls done.Finish for every tile.
	ProjectTransposedTiles(dst, z dense.Matrix[T], done Epilogue)
}

// Transposable returns w if it is a Transposer. Otherwise it returns w with a
// ProjectTransposed that multiplies by w.Frequencies(), O(n·m·d): the first call
// asks for them and keeps a copy of m·d numbers.
func Transposable[T dense.Float](w Projection[T]) Transposer[T] {
	if t, ok := w.(Transposer[T]); ok {
		return t
	}
	p := &byFrequencies[T]{Projection: w}
	p.m, p.d = w.Dims()
	p.frequencies = w.Frequencies
	return p
}

// byFrequencies is a projection that does not know its transpose, with one.
type byFrequencies[T dense.Float] struct {
	Projection[T]
	transposer[T]
}

// transposer multiplies by W. It packs W at the first use, so that a projection
// that is never transposed does without the memory.
type transposer[T dense.Float] struct {
	m, d        int
	frequencies func() dense.Matrix[T]
	once        sync.Once
	packed      matmul.Packed[T]
}

func (t *transposer[T]) ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T] {
	checkTransposedInput(z, t.m, t.d)
	dst = dense.Ensure(dst, z.Rows, t.d)
	matmul.MulPacked(1, z, t.operand(), 0, dst, nil)
	return dst
}

func (t *transposer[T]) ProjectTransposedTiles(dst, z dense.Matrix[T], done Epilogue) {
	checkTransposedInput(z, t.m, t.d)
	checkOutput(dst, z.Rows, t.d)
	matmul.MulPacked(1, z, t.operand(), 0, dst, done)
}

// operand returns W as a right operand.
func (t *transposer[T]) operand() *matmul.Packed[T] {
	t.once.Do(func() { matmul.Pack(&t.packed, t.frequencies()) })
	return &t.packed
}

// checkTransposedInput panics unless the rows of z have an element for each of the
// m frequencies.
func checkTransposedInput[T dense.Float](z dense.Matrix[T], m, d int) {
	z.Check()
	if z.Cols != m {
		panic(fmt.Sprintf("orf: z is %d×%d, want n×%d for frequencies %d×%d", z.Rows, z.Cols, m, m, d))
	}
}
