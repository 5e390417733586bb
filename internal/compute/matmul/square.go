package matmul

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// AddSquare adds the lower triangle of PᵀP to C, where P is k×n. C is in bands of height rows: band
// i has the rows from i·height on, and at least the columns up to its last row. height is a
// multiple of 32, the width of the widest panel. Elements above the diagonal may be written, within
// the columns of the band. C must not overlap P. A strip ends at the panel with its last row, or in
// the middle of this panel if the last row is there. Results do not depend on GOMAXPROCS.
func AddSquare[T Float, M Matrix[T]](p M, height int, bands []M) {
	from := of(p, false)
	if n := from.cols; len(bands) != (n+height-1)/height || height%(2*genericLanes) != 0 {
		panic(fmt.Sprintf("matmul: %d bands of %d rows do not fit a square of order %d", len(bands), height, n))
	}
	if from.rows == 0 || from.cols == 0 {
		return
	}
	k, s := best[T](), pool.Get[square[T]](&squares)
	s.height, s.bands = height, s.bands[:0]
	for _, b := range bands {
		s.bands = append(s.bands, of(b, false))
	}
	productsOf[T]().pack(&s.p, from)
	s.from = from
	count := panels(k, from.cols)
	s.slab = max(1, cache.L2/2/(min(from.rows, depth)*simd.Size[T]()*2*k.lanes))
	s.strips = Strips[T](height)
	for s.lo = 0; s.lo < from.rows; s.lo += depth {
		parallel.Do(len(bands)*s.strips*((count+s.slab-1)/s.slab), s)
	}
	clear(s.bands)
	s.from = operand[T]{}
	pool.Put(&squares, s)
}

type square[T Float] struct {
	p      Packed[T]
	from   operand[T]
	height int
	bands  []operand[T]
	strips int // of a band
	slab   int // panels of a block of inner indices that stay in the second cache
	lo     int // first of these inner indices
}

var squares pool.Pair[square[float32], square[float64]]

func (s *square[T]) Piece(piece int) {
	k, n := best[T](), s.p.cols
	all := len(s.bands) * s.strips
	strip, from := piece%all, piece/all*s.slab
	c := s.bands[strip/s.strips]
	base, t := strip/s.strips*s.height, strip%s.strips
	at, next := parallel.Share(c.rows, s.strips, t), parallel.Share(c.rows, s.strips, t+1)
	width, end := 2*k.lanes, base+next // the columns that the strip needs
	if at == next || from*width >= end {
		return
	}
	inner := min(depth, s.p.rows-s.lo)
	rows := pool.Get[copied[T]](&copies)
	defer pool.Put(&copies, rows)
	a := rows.columns(k, &s.from, s.lo, inner, base+at, next-at)
	to := min(from+s.slab, (end+width-1)/width)
	// One call takes all whole panels. The last panel may need only one vector, or have only one.
	whole := to
	if end < to*width {
		whole--
	}
	run := func(j, panels, vectors, last int) {
		b, wide := panel(&s.p, k, s.lo, inner, j)
		dst := target[T]{&c.data[at*c.stride+j*width], c.stride, last}
		k.strip(next-at, vectors)(inner, a, right[T]{first: &b[0], row: wide * k.lanes, panel: inner * width}, dst, 1, 1, panels)
	}
	if whole > from {
		run(from, whole-from, 2, k.lanes)
	}
	if whole < to {
		rest := min(n, to*width) - whole*width // columns of the panel that C has
		if end-whole*width <= k.lanes {
			run(whole, 1, 1, min(rest, k.lanes))
		} else {
			run(whole, 1, 2, rest-k.lanes)
		}
	}
}

func (x *copied[T]) columns(k *kernels[T], p *operand[T], l, n, i, height int) left[T] {
	vectors := (height + k.lanes - 1) / k.lanes
	if vectors > 2 {
		transposed := *p
		transposed.trans = true
		x.reset(&transposed, 1, height, n)
		x.add(&transposed, i, height, l, n)
		return x.strips[0]
	}
	x.data = cache.Aligned(x.data, n*vectors*k.lanes)
	packPanel(k, x.data, p.data[l*p.stride+i:], n, vectors, height, p.stride, 1)
	return left[T]{&x.data[0], 1, vectors * k.lanes}
}
