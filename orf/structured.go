package orf

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/cache"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

// operator is a linear map R from R^d into R^order that applies faster than a matrix. Its rows are
// d columns of rows of length 1 in R^order.
type operator[T dense.Float] interface {
	Apply(dst, x dense.Matrix[T]) dense.Matrix[T]           // n×d → n×order
	ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T] // n×order → n×d
}

// structured is a projection in blocks, each some rows of an operator times their lengths, that
// never forms W to project.
type structured[T dense.Float] struct {
	applied[T]
	order      int
	blocks     []block[T]
	images     pool.Of[[]T] // tile·order elements, for the images of a tile
	passes     pool.Of[pass[T]]
	transposed pool.Of[transposedPass[T]]
}

// block has the frequencies w_k = lengths[k]·Rᵀe_{rows[k]}; a length may carry a sign.
type block[T dense.Float] struct {
	r       operator[T]
	rows    []int
	lengths []T
}

// stack draws blocks of order rows until there are m frequencies: for each block an operator, a
// uniform permutation of its rows, and the lengths of the rows in use. e is their law.
//
// It returns an error if that takes more memory than the machine has.
func stack[T dense.Float](m, d, order int, e Ensemble, src rand.Source, length func(d int) float64, draw func() (operator[T], error)) (Projection[T], error) {
	count := blocksOf(m, order)
	if err := cmp.Or(limit.Memory[int](count, order), limit.Memory[block[T]](count)); err != nil {
		return nil, fmt.Errorf("orf: m = %d, d = %d, in blocks of %d: %w", m, d, order, err)
	}
	p := &structured[T]{order: order}
	p.applied = applied[T]{m: m, d: d, ensemble: e, project: p.forward, transpose: p.backward}
	rng := rand.New(src)
	for from := 0; from < m; from += order {
		r, err := draw()
		if err != nil {
			return nil, fmt.Errorf("orf: %w", err)
		}
		n := min(order, m-from)
		b := block[T]{r: r, rows: rng.Perm(order)[:n], lengths: make([]T, n)}
		for k := range b.lengths {
			b.lengths[k] = T(length(order))
		}
		p.blocks = append(p.blocks, b)
	}
	return p, nil
}

// blocksOf returns the number of blocks of the given number of rows that m frequencies take.
func blocksOf(m, rows int) int { return (m-1)/rows + 1 }

// forward runs a pass over the tiles of all blocks.
func (p *structured[T]) forward(dst, x dense.Matrix[T], done matmul.Epilogue) {
	t := p.passes.Get()
	*t = pass[T]{structured: p, dst: dst, x: x, done: done}
	tile := p.tile()
	parallel.Do((x.Rows+tile-1)/tile*len(p.blocks), t)
	*t = pass[T]{}
	p.passes.Put(t)
}

// pass is the task of projecting the rows of x. A piece is one tile in one block, so that a few
// rows also spread over the processors.
type pass[T dense.Float] struct {
	*structured[T]
	dst, x dense.Matrix[T]
	done   matmul.Epilogue
}

func (p *pass[T]) Piece(i int) {
	tile := p.tile()
	lo := i / len(p.blocks) * tile
	hi := min(lo+tile, p.x.Rows)
	at := i % len(p.blocks)
	b, from := &p.blocks[at], at*p.order
	to := from + len(b.lengths)
	scratch := p.scratch()
	y := dense.Of(hi-lo, p.order, (*scratch)[:(hi-lo)*p.order])
	b.r.Apply(y, p.x.RowRange(lo, hi))
	b.pick(p.dst.RowRange(lo, hi).ColRange(from, to), y)
	p.images.Put(scratch)
	if p.done != nil {
		p.done.Finish(lo, hi, from, to)
	}
}

// pick writes the elements of every row of y that the block keeps, times their lengths, into the
// rows of dst.
func (b *block[T]) pick(dst, y dense.Matrix[T]) {
	for i := range y.Rows {
		from, rows := y.Row(i), b.rows
		to, lengths := dst.Row(i)[:len(rows)], b.lengths[:len(rows)]
		for k, r := range rows {
			to[k] = lengths[k] * from[r]
		}
	}
}

func (p *structured[T]) Frequencies() dense.Matrix[T] {
	w := dense.New[T](p.m, p.d)
	tile := p.tile()
	for at, b := range p.blocks {
		for lo := 0; lo < len(b.lengths); lo += tile {
			hi := min(lo+tile, len(b.lengths))
			unit := dense.New[T](hi-lo, p.order)
			for k := lo; k < hi; k++ {
				unit.Set(k-lo, b.rows[k], b.lengths[k])
			}
			b.r.ApplyTransposed(w.RowRange(at*p.order+lo, at*p.order+hi), unit)
		}
	}
	return w
}

// tile returns how many rows are worked on together: few enough for their images to take at most a
// sixteenth of the second cache.
func (p *structured[T]) tile() int {
	var v T
	return max(16, min(64, cache.L2/16/int(unsafe.Sizeof(v))/p.order))
}
