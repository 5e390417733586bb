package orf

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// operator is a linear map from R^d into R^order that applies faster than a matrix.
type operator[T dense.Float] interface {
	Apply(dst, x dense.Matrix[T]) dense.Matrix[T]           // n×d → n×order
	ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T] // n×order → n×d
}

type structured[T dense.Float] struct {
	applied[T]
	order      int
	blocks     []block[T]
	images     pool.Of[[]T] // for the images of a tile in a group of blocks
	passes     pool.Of[projectionPass[T]]
	transposed pool.Of[transposedPass[T]]
}

// block has the frequencies w_k = lengths[k]·Rᵀe_{rows[k]}; a length may carry a sign.
type block[T dense.Float] struct {
	r       operator[T]
	rows    []int32
	lengths []T
}

// stack draws blocks for m frequencies: operators, uniform permutations of rows, and lengths.
func stack[T dense.Float](m, d, order int, e Ensemble, src rand.Source, length func(d int) float64, draw func() (operator[T], error)) (Projection[T], error) {
	count := blocksOf(m, order)
	if err := cmp.Or(limit.Memory[int](count, order), limit.Memory[block[T]](count)); err != nil {
		return nil, fmt.Errorf("orf: m = %d, d = %d, in blocks of %d: %w", m, d, order, err)
	}
	if order-1 > math.MaxInt32 {
		return nil, fmt.Errorf("orf: d = %d, in blocks of %d, want at most 2³¹ rows", d, order)
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
		b := block[T]{r: r, rows: permutation(rng, order, n), lengths: make([]T, n)}
		for k := range b.lengths {
			b.lengths[k] = T(length(order))
		}
		p.blocks = append(p.blocks, b)
	}
	return p, nil
}

func permutation(rng *rand.Rand, order, n int) []int32 {
	first := make([]int32, n)
	for k, v := range rng.Perm(order)[:n] {
		first[k] = int32(v)
	}
	return first
}

func blocksOf(m, rows int) int { return (m-1)/rows + 1 }

func (p *structured[T]) forward(dst, x dense.Matrix[T], done matmul.Epilogue) {
	t := p.passes.Get()
	*t = projectionPass[T]{structured: p, dst: dst, x: x, done: done}
	tile, group := p.tile(), p.group()
	t.groups = (len(p.blocks) + group - 1) / group
	parallel.Do((x.Rows+tile-1)/tile*t.groups, t)
	*t = projectionPass[T]{}
	p.passes.Put(t)
}

// A piece is one tile in one group of blocks, so that a few rows also spread over the processors.
type projectionPass[T dense.Float] struct {
	*structured[T]
	dst, x dense.Matrix[T]
	done   matmul.Epilogue
	groups int
}

func (p *projectionPass[T]) Piece(i int) {
	tile, group := p.tile(), p.group()
	lo, at := i/p.groups*tile, i%p.groups*group
	x := p.x.RowRange(lo, min(lo+tile, p.x.Rows))
	blocks := p.blocks[at:min(at+group, len(p.blocks))]
	scratch := p.scratch()
	image := func(b int) dense.Matrix[T] {
		return dense.Of(x.Rows, p.order, (*scratch)[b*x.Rows*p.order:][:x.Rows*p.order])
	}
	for b := range blocks {
		blocks[b].r.Apply(image(b), x)
	}
	first, end := at*p.order, min((at+len(blocks))*p.order, p.m)
	for from := 0; from < x.Rows; from += pickedRows {
		to := min(from+pickedRows, x.Rows)
		for b := range blocks {
			left := (at + b) * p.order
			right := left + len(blocks[b].lengths)
			blocks[b].pick(p.dst.RowRange(lo+from, lo+to).ColRange(left, right), image(b).RowRange(from, to))
		}
		if p.done != nil {
			p.done.Finish(lo+from, lo+to, first, end)
		}
	}
	p.images.Put(scratch)
}

// pick writes the elements of y that the block keeps, times their lengths, into dst.
func (b *block[T]) pick(dst, y dense.Matrix[T]) {
	for i := range y.Rows {
		vecmath.Pick(dst.Row(i), y.Row(i), b.rows, b.lengths)
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
				unit.Set(k-lo, int(b.rows[k]), b.lengths[k])
			}
			b.r.ApplyTransposed(w.RowRange(at*p.order+lo, at*p.order+hi), unit)
		}
	}
	return w
}

const (
	// Small blocks have so many columns together in a piece.
	groupColumns = 512
	// pickedRows rows are finished while they are in the first cache.
	pickedRows = 8
)

func (p *structured[T]) group() int { return min(max(1, groupColumns/p.order), len(p.blocks)) }

// tile returns the number of rows whose images take a sixteenth of the second-level cache.
func (p *structured[T]) tile() int {
	var v T
	return max(16, min(64, cache.L2/16/int(unsafe.Sizeof(v))/(p.group()*p.order)))
}
