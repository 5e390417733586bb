package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/kernels"
)

type frame struct {
	name    string // the constructor with its parameters
	in, out int
	kernel  kernels.Kernel
	law     mse.Law
	recipe  any // what Write stores; nil for a map of functions
}

func (f *frame) Dims() (in, out int) { return f.in, f.out }

func (f *frame) Kernel() kernels.Kernel { return f.kernel }

func (f *frame) Law() mse.Law { return f.law }

func (f *frame) Recipe() (any, error) {
	if f.recipe == nil {
		return nil, fmt.Errorf("%v is made of functions, which no file holds", f)
	}
	return f.recipe, nil
}

func (f *frame) String() string { return fmt.Sprintf("%s: R^%d → R^%d", f.name, f.in, f.out) }

// blockwise is a map computed by blocks of rows, with scratch memory S kept for later calls.
type blockwise[T dense.Float, S any] struct {
	frame
	rows      int // of a block
	transform blockFunc[T, S]

	passes pool.Of[blockPass[T, S]]
	spaces pool.Of[S]
}

// blockFunc writes dst for the rows of x. g holds the gradients, in a backward pass only.
type blockFunc[T dense.Float, S any] func(s *S, dst, x, g dense.Matrix[T])

func (b *blockwise[T, S]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return b.forward(dst, x, b.transform)
}

// f is a field of the map: a new closure for each call would allocate.
func (b *blockwise[T, S]) forward(dst, x dense.Matrix[T], f blockFunc[T, S]) dense.Matrix[T] {
	checkPoints(x, b.in)
	return b.run(dense.Ensure(dst, x.Rows, b.out), x, dense.Matrix[T]{}, f)
}

func (b *blockwise[T, S]) run(dst, x, g dense.Matrix[T], f blockFunc[T, S]) dense.Matrix[T] {
	p := b.passes.Get()
	*p = blockPass[T, S]{blockwise: b, dst: dst, x: x, g: g, block: f}
	parallel.Do((x.Rows+b.rows-1)/b.rows, p)
	*p = blockPass[T, S]{}
	b.passes.Put(p)
	return dst
}

type blockPass[T dense.Float, S any] struct {
	*blockwise[T, S]
	dst, x, g dense.Matrix[T]
	block     blockFunc[T, S]
}

func (p *blockPass[T, S]) Piece(i int) {
	lo := i * p.rows
	hi := min(lo+p.rows, p.x.Rows)
	g := p.g
	if g.Rows > 0 {
		g = g.RowRange(lo, hi)
	}
	s := p.spaces.Get()
	p.block(s, p.dst.RowRange(lo, hi), p.x.RowRange(lo, hi), g)
	p.spaces.Put(s)
}
