package orf

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// W is the blocks S_b·R_b on top of each other, where R_b is the operator of block b and S_b picks
// and scales rows. Hence Wᵀz = Σ_b R_bᵀ·(S_bᵀz_b).

func (p *structured[T]) backward(dst, z dense.Matrix[T], done matmul.Epilogue) {
	t := p.transposed.Get()
	*t = transposedPass[T]{structured: p, dst: dst, z: z, done: done}
	tile := p.tile()
	parallel.Do((z.Rows+tile-1)/tile, t)
	*t = transposedPass[T]{}
	p.transposed.Put(t)
}

// A piece is one tile of rows, with the sum over all blocks in order.
type transposedPass[T dense.Float] struct {
	*structured[T]
	dst, z dense.Matrix[T]
	done   matmul.Epilogue
}

func (p *transposedPass[T]) Piece(i int) {
	tile := p.tile()
	lo := i * tile
	hi := min(lo+tile, p.z.Rows)
	n := hi - lo
	image, part := p.scratch(), p.scratch()
	y, v := dense.Of(n, p.order, (*image)[:n*p.order]), dense.Of(n, p.d, (*part)[:n*p.d])
	dst, z := p.dst.RowRange(lo, hi), p.z.RowRange(lo, hi)
	for at := range p.blocks {
		b, from := &p.blocks[at], at*p.order
		b.scatter(y, z.ColRange(from, from+len(b.lengths)))
		if at == 0 {
			b.r.ApplyTransposed(dst, y)
			continue
		}
		b.r.ApplyTransposed(v, y)
		for k := range n {
			vecmath.AddScaled(dst.Row(k), v.Row(k), 1)
		}
	}
	p.images.Put(image)
	p.images.Put(part)
	if p.done != nil {
		p.done.Finish(lo, hi, 0, p.d)
	}
}

func (p *structured[T]) scratch() *[]T {
	s := p.images.Get()
	if *s == nil {
		*s = make([]T, p.tile()*p.group()*p.order)
	}
	return s
}

func (b *block[T]) scatter(y, z dense.Matrix[T]) {
	for i := range z.Rows {
		rows := b.rows
		from, to, lengths := z.Row(i)[:len(rows)], y.Row(i), b.lengths[:len(rows)]
		if len(rows) < len(to) {
			clear(to)
		}
		for k, r := range rows {
			to[r] = lengths[k] * from[k]
		}
	}
}
