package matmul

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/cache"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

// AddSquare adds the lower triangle of PᵀP to C, where P is k×n. C is in bands of height rows: band
// i has the rows from i·height on, and at least the columns up to its last row. height is a multiple
// of 32, the width of the widest panel. Elements above the diagonal may be written, within the
// columns of the band. C must not overlap P.
//
// P is packed once, and its panels are both operands: a strip is a part of a panel, so that no rows
// of Pᵀ are copied. Results do not depend on GOMAXPROCS.
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
	s.p.pack(from)
	s.panels = k.panels(from.cols)
	s.slab = max(1, cache.L2/2/(min(from.rows, depth)*size[T]()*2*k.lanes))
	parallel.Do(s.panels*((s.panels+s.slab-1)/s.slab), s)
	clear(s.bands)
	pool.Put(&squares, s)
}

// square is one call of AddSquare.
type square[T Float] struct {
	p      Packed[T]
	height int
	bands  []view[T]
	panels int
	slab   int // panels of a block of inner indices that stay in the second cache
}

var squares pool.Both[square[float32], square[float64]]

// Piece adds the rows of one panel for the columns of one slab.
func (s *square[T]) Piece(piece int) {
	i, from := piece%s.panels, piece/s.panels*s.slab
	if from > i {
		return
	}
	k, n := best[T](), s.p.cols
	width := 2 * k.lanes
	first, end, to := i*width, min((i+1)*width, n), min(from+s.slab, i+1)
	whole := min(to, n/width) // the last panel may be narrower than the others
	strips, c := Strips[T](end-first), s.bands[first/s.height]
	for lo := 0; lo < s.p.rows; lo += depth {
		inner := min(depth, s.p.rows-lo)
		a, vectors := s.p.panel(k, lo, inner, i)
		for t := range strips {
			at, next := parallel.Share(end-first, strips, t), parallel.Share(end-first, strips, t+1)
			x, row := left[T]{&a[at], 1, vectors * k.lanes}, first%s.height+at
			for j := from; j < to; {
				panels := max(1, whole-j)
				b, vectors := s.p.panel(k, lo, inner, j)
				last := min(n-j*width-(vectors-1)*k.lanes, k.lanes)
				dst := target[T]{&c.data[row*c.stride+j*width], c.stride, last}
				k.strip(next-at, vectors)(inner, x, right[T]{&b[0], vectors * k.lanes, inner * width}, dst, 1, 1, panels)
				j += panels
			}
		}
	}
}
