package orf

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
)

// isometry is a linear map R from R^d into R^order with RᵀR = I that applies
// faster than a matrix.
type isometry[T dense.Float] interface {
	Dims() (d, order int)
	Apply(dst, x dense.Matrix[T]) dense.Matrix[T]           // n×d → n×order
	ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T] // n×order → n×d
}

// structured is a projection in blocks, each some rows of an isometry times
// their lengths, that never forms W to project.
type structured[T dense.Float] struct {
	m, d, order int
	blocks      []block[T]
	// images holds tile·order elements as *[]T, for the images of a tile.
	images sync.Pool
}

// block has the frequencies w_k = lengths[k]·Rᵀe_{rows[k]}; a length may carry a
// sign.
type block[T dense.Float] struct {
	r       isometry[T]
	rows    []int
	lengths []T
}

// stack draws blocks until there are m frequencies: for each an isometry, a
// uniform permutation of its rows, and the lengths of the rows in use.
func stack[T dense.Float](m, d int, src rand.Source, length func(d int) float64, draw func() (isometry[T], error)) (Projection[T], error) {
	p := &structured[T]{m: m, d: d}
	rng := rand.New(src)
	for from := 0; from < m; from += p.order {
		r, err := draw()
		if err != nil {
			return nil, fmt.Errorf("orf: %w", err)
		}
		_, p.order = r.Dims()
		n := min(p.order, m-from)
		b := block[T]{r: r, rows: rng.Perm(p.order)[:n], lengths: make([]T, n)}
		for k := range b.lengths {
			b.lengths[k] = T(length(p.order))
		}
		p.blocks = append(p.blocks, b)
	}
	return p, nil
}

func (p *structured[T]) Dims() (m, d int) { return p.m, p.d }

func (p *structured[T]) Project(dst, x dense.Matrix[T]) dense.Matrix[T] {
	checkInput(x, p.m, p.d)
	dst = dense.Ensure(dst, x.Rows, p.m)
	tile := p.tile()
	tiles := (x.Rows + tile - 1) / tile
	// A piece is one tile in one block, so that a few rows also spread over
	// the processors.
	parallel.Pieces(tiles*len(p.blocks), func(i int) {
		lo := i / len(p.blocks) * tile
		hi := min(lo+tile, x.Rows)
		at := i % len(p.blocks)
		b := p.blocks[at]
		scratch, ok := p.images.Get().(*[]T)
		if !ok {
			scratch = new([]T)
			*scratch = make([]T, tile*p.order)
		}
		y := dense.Of(hi-lo, p.order, (*scratch)[:(hi-lo)*p.order])
		b.r.Apply(y, x.RowRange(lo, hi))
		from := at * p.order
		b.pick(dst.RowRange(lo, hi).ColRange(from, from+len(b.rows)), y)
		p.images.Put(scratch)
	})
	return dst
}

// pick writes the elements of every row of y that the block keeps, times their
// lengths, into the rows of dst.
func (b *block[T]) pick(dst, y dense.Matrix[T]) {
	for i := range y.Rows {
		to, from := dst.Row(i), y.Row(i)
		for k, r := range b.rows {
			to[k] = b.lengths[k] * from[r]
		}
	}
}

func (p *structured[T]) Frequencies() dense.Matrix[T] {
	w := dense.New[T](p.m, p.d)
	tile := p.tile()
	for at, b := range p.blocks {
		for lo := 0; lo < len(b.rows); lo += tile {
			hi := min(lo+tile, len(b.rows))
			unit := dense.New[T](hi-lo, p.order)
			for k := lo; k < hi; k++ {
				unit.Set(k-lo, b.rows[k], b.lengths[k])
			}
			b.r.ApplyTransposed(w.RowRange(at*p.order+lo, at*p.order+hi), unit)
		}
	}
	return w
}

// tile returns how many rows are worked on together: few enough for their
// images to stay in cache.
func (p *structured[T]) tile() int {
	const elements = 1 << 14
	return max(16, min(64, elements/p.order))
}
