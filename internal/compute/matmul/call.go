package matmul

import (
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

const (
	// tileColumns is the number of columns after which an epilogue is called.
	tileColumns = 512
	// copyPanels is the number of panels for which a strip of A is copied, unless its rows are
	// adjacent: they then are, in the first cache, whatever the stride of A is.
	copyPanels = 8
	// fetchPanels is the number of panels between two parts of the next strip that are fetched.
	fetchPanels = 4
	// piecesEach is the number of pieces for each processor, which may be slower than the others.
	piecesEach = 4
	// serialBelow is the number of multiply-adds under which one goroutine is
	// faster.
	serialBelow = 1 << 20
)

// tileBytes is the size of a tile that stays in the first cache until its epilogue, beside the strip
// of A and the panel of B that are read meanwhile.
var tileBytes = cache.L1 / 3

// call is one product.
type call[T Float] struct {
	alpha, beta T
	a           view[T]
	b           *Packed[T]
	c           view[T]
	done        Epilogue
	strips      int // of rows of C, of nearly equal height
	groups      int // of strips
	columns     int // of a piece
}

func mulPacked[T Float](alpha T, a view[T], b *Packed[T], beta T, c view[T], done Epilogue) {
	check(a, b.rows, b.cols, c)
	if c.rows == 0 || c.cols == 0 {
		return
	}
	p := pool.Get[call[T]](&calls)
	*p = call[T]{alpha: alpha, beta: beta, a: a, b: b, c: c, done: done}
	parallel.Do(p.split(), p)
	*p = call[T]{}
	pool.Put(&calls, p)
}

// split cuts C into pieces, and returns their number: enough for every processor to have some.
// Results do not depend on it.
//
// A piece is some strips of rows times some columns. The blocks of B for these columns stay in the
// second cache, one after another, for all strips of the piece. If there is an epilogue, a piece has
// all columns.
func (p *call[T]) split() int {
	p.strips, p.groups, p.columns = Strips[T](p.c.rows), 1, p.c.cols
	count := 1 // of pieces side by side
	if p.done == nil {
		cached, panel := cache.L2/2/simd.Size[T](), 2*best[T]().lanes
		count = (p.c.cols*depth + cached - 1) / cached
		p.columns = ((p.c.cols+count-1)/count + panel - 1) / panel * panel
		count = (p.c.cols + p.columns - 1) / p.columns
	}
	if float64(p.c.rows)*float64(p.c.cols)*float64(p.b.rows) >= serialBelow {
		if helpers := parallel.Idle(); helpers > 0 {
			p.groups = max(p.groups, (piecesEach*(helpers+1)+count-1)/count)
		}
	}
	p.groups = min(p.groups, p.strips)
	return count * p.groups
}

// Piece computes a piece of C.
func (p *call[T]) Piece(i int) {
	group, left := i%p.groups, i/p.groups*p.columns
	first, end := parallel.Share(p.strips, p.groups, group), parallel.Share(p.strips, p.groups, group+1)
	if p.done == nil {
		p.compute(first, end, left, min(left+p.columns, p.c.cols))
		return
	}
	columns, bytes := min(p.c.cols, tileColumns), tileBytes
	if p.b.rows*columns*simd.Size[T]() > cache.L2/2 {
		// B comes from beyond the second cache for every tile.
		bytes = cache.L2 / 2
	}
	strips := max(1, bytes/(columns*simd.Size[T]()*best[T]().mostRows()))
	for ; first < end; first += strips {
		last := min(first+strips, end)
		for from := 0; from < p.c.cols; from += columns {
			to := min(from+columns, p.c.cols)
			p.compute(first, last, from, to)
			p.done.Finish(p.row(first), p.row(last), from, to)
		}
	}
}

// row returns the first row of a strip.
func (p *call[T]) row(strip int) int { return parallel.Share(p.c.rows, p.strips, strip) }

// compute computes strips first ≤ s < end and columns from ≤ j < to of C.
func (p *call[T]) compute(first, end, from, to int) {
	if p.b.rows == 0 {
		p.scale(p.row(first), p.row(end), from, to)
		return
	}
	k := best[T]()
	panel := 2 * k.lanes
	panels := (to - from + panel - 1) / panel
	var rows *copied[T]
	if panels >= copyPanels && p.a.stride > min(depth, p.b.rows) {
		rows = pool.Get[copied[T]](&copies)
		defer pool.Put(&copies, rows)
	}
	beta := p.beta
	for block := 0; block < p.b.rows; block += depth {
		n := min(depth, p.b.rows-block)
		for s := first; s < end; s++ {
			i := p.row(s)
			height, a := p.row(s+1)-i, p.a.from(i, block)
			if rows != nil {
				a = rows.of(&p.a, i, height, block, n)
			}
			for at, count := from, 0; at < to; {
				// Whole panels go together, a few if the next strip is fetched meanwhile.
				run := max(1, (to-at)/panel)
				if rows != nil && s+1 < end {
					run = min(run, fetchPanels)
					lo, hi := parallel.Share(n, panels, count), parallel.Share(n, panels, count+run)
					p.a.expect(i+height, p.row(s+2)-i-height, block+lo, hi-lo)
				}
				b, vectors := p.b.right(k, block, n, at/panel)
				last := min(p.c.cols-at, panel) - (vectors-1)*k.lanes
				c := target[T]{&p.c.data[i*p.c.stride+at], p.c.stride, last}
				k.strip(height, vectors)(n, a, b, c, p.alpha, beta, run)
				at, count = at+run*panel, count+run
			}
		}
		beta = 1
	}
}

// copied is a few rows of A, adjacent.
type copied[T Float] struct{ data []T }

// of copies rows i ≤ r < i+height and columns l ≤ c < l+n of A.
func (x *copied[T]) of(a *view[T], i, height, l, n int) left[T] {
	row, col := a.steps()
	from := a.data[i*row+l*col:]
	rows, cols := height, n
	if a.trans {
		rows, cols = n, height
	}
	// A line more than the columns, lest a power of two keeps all rows in the same few places of a
	// cache.
	to := view[T]{stride: cols + line/simd.Size[T](), trans: a.trans}
	x.data = Aligned(x.data, rows*to.stride)
	to.data = x.data
	for r := range rows {
		copy(to.data[r*to.stride:][:cols], from[r*a.stride:])
	}
	return to.from(0, 0)
}

// scale multiplies a tile of C by β: a product without inner indices does nothing else.
func (p *call[T]) scale(lo, hi, from, to int) {
	for i := lo; i < hi; i++ {
		row := p.c.data[i*p.c.stride:][from:to]
		if p.beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= p.beta
		}
	}
}

var (
	calls  pool.Both[call[float32], call[float64]]
	packs  pool.Both[Packed[float32], Packed[float64]]
	copies pool.Both[copied[float32], copied[float64]]
)
