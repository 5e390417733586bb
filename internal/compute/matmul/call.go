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
	// copyPanels is the smallest number of panels for which strips of A are copied. Two panels are
	// enough if the rows of A displace each other from the first cache.
	copyPanels = 8
	// fetchPanels is the number of panels between two prefetches of parts of the next strip.
	fetchPanels = 4
	// piecesEach is the number of pieces for each processor. Slow processors take fewer.
	piecesEach = 4
	// stripsEach is the number of strips of a piece from which one strip more matters little.
	stripsEach = 8
	// serialBelow is the number of multiply-adds below which one goroutine is faster.
	serialBelow = 1 << 20
)

// tileBytes leaves room in the first cache for a strip of A and a panel of B.
var tileBytes = cache.L1 / 3

type multiplication[T Float] struct {
	alpha, beta T
	a           operand[T]
	b           Packed[T]
	c           operand[T]
	done        Epilogue
	strips      int // of rows of C, of nearly equal height
	groups      int // of strips
	columns     int // of a piece
}

func (instance[T]) mulPacked(alpha T, a operand[T], b *Packed[T], beta T, c operand[T], done Epilogue) {
	check(a, b.rows, b.cols, c)
	if c.rows == 0 || c.cols == 0 {
		return
	}
	p := pool.Get[multiplication[T]](&calls)
	*p = multiplication[T]{alpha: alpha, beta: beta, a: a, b: *b, c: c, done: done}
	parallel.Do(p.split(), p)
	*p = multiplication[T]{}
	pool.Put(&calls, p)
}

// split divides C into several pieces for each processor, and returns their number. Results do not
// depend on the number. A piece has all columns if the product has an epilogue, or if it has so
// many rows that the numbers of strips of pieces hardly differ.
func (p *multiplication[T]) split() int {
	p.strips, p.groups, p.columns = Strips[T](p.c.rows), 1, p.c.cols
	helpers := 0
	if float64(p.c.rows)*float64(p.c.cols)*float64(p.b.rows) >= serialBelow {
		helpers = parallel.Idle()
	}
	if helpers == 0 {
		return 1
	}
	pieces, sides := piecesEach*(helpers+1), 1
	if p.done == nil {
		panel := 2 * best[T]().lanes
		panels := (p.c.cols + panel - 1) / panel
		sides = max(1, min((stripsEach*pieces+p.strips-1)/p.strips, pieces, panels/copyPanels))
		p.columns = (panels + sides - 1) / sides * panel
		sides = (p.c.cols + p.columns - 1) / p.columns
	}
	p.groups = min((pieces+sides-1)/sides, p.strips)
	return sides * p.groups
}

// evenly returns the size of the largest part if n is divided into as few parts as possible, of
// nearly equal size and at most most.
func evenly(n, most int) int {
	parts := (n + most - 1) / most
	return (n + parts - 1) / parts
}

func (p *multiplication[T]) Piece(i int) {
	group, left := i%p.groups, i/p.groups*p.columns
	first, end := parallel.Share(p.strips, p.groups, group), parallel.Share(p.strips, p.groups, group+1)
	if p.done == nil {
		p.compute(first, end, left, min(left+p.columns, p.c.cols))
		return
	}
	columns, bytes := min(p.c.cols, tileColumns), tileBytes
	if p.b.rows*columns*simd.Size[T]() > cache.L2/2 {
		// Every tile reads B from beyond the second cache.
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

func (p *multiplication[T]) row(strip int) int { return parallel.Share(p.c.rows, p.strips, strip) }

// compute computes strips first ≤ s < end and columns from ≤ j < to of C. Half of the second cache
// is for a group of panels of B, which is multiplied by one strip of A after another. The other
// half is for copies of strips of A.
func (p *multiplication[T]) compute(first, end, from, to int) {
	if p.b.rows == 0 {
		scale(p.c, p.beta, p.row(first), p.row(end), from, to)
		return
	}
	k, bytes := best[T](), min(depth, p.b.rows)*simd.Size[T]() // bytes of a row of A or column of B
	panel := 2 * k.lanes
	panels := (to - from + panel - 1) / panel
	width := evenly(panels, max(1, cache.L2/2/(panel*bytes))) * panel
	strips := end - first
	var rows *copied[T]
	if p.copies(panels) {
		rows = pool.Get[copied[T]](&copies)
		defer pool.Put(&copies, rows)
		if strips = 1; width < to-from {
			strips = evenly(end-first, max(1, cache.L2/2/(k.mostRows()*bytes)))
		}
	}
	beta := p.beta
	for block := 0; block < p.b.rows; block += depth {
		n := min(depth, p.b.rows-block)
		for lo := first; lo < end; lo += strips {
			hi := min(lo+strips, end)
			if rows != nil {
				rows.reset(&p.a, hi-lo, k.mostRows(), n)
			}
			for left := from; left < to; left += width {
				for s := lo; s < hi; s++ {
					t := tile{row: p.row(s), rows: p.row(s+1) - p.row(s), block: block, depth: n, from: left, to: min(left+width, to)}
					a := leftAt(&p.a, t.row, block)
					if rows != nil {
						if left == from {
							rows.add(&p.a, t.row, t.rows, block, n)
							if s+1 < end {
								t.fetched = p.row(s+2) - p.row(s+1)
							}
						}
						a = rows.strips[s-lo]
					}
					p.multiply(k, a, t, beta)
				}
			}
		}
		beta = 1
	}
}

func (p *multiplication[T]) copies(panels int) bool {
	switch {
	case p.a.stride <= min(depth, p.b.rows):
		return false
	case !p.a.trans && cache.Crowded(best[T]().mostRows(), p.a.stride*simd.Size[T]()):
		return panels > 1
	}
	return panels >= copyPanels
}

// tile is rows row … row+rows−1 and columns from ≤ j < to of C, for depth inner indices from block
// on. fetched is the number of following rows of A to prefetch.
type tile struct{ row, rows, block, depth, from, to, fetched int }

func (p *multiplication[T]) multiply(k *kernels[T], a left[T], t tile, beta T) {
	panel := 2 * k.lanes
	panels := (t.to - t.from + panel - 1) / panel
	for at, count := t.from, 0; at < t.to; {
		// One call takes all whole panels, or a few panels if rows are prefetched between calls.
		run := max(1, (t.to-at)/panel)
		if t.fetched > 0 {
			run = min(run, fetchPanels)
			lo, hi := parallel.Share(t.depth, panels, count), parallel.Share(t.depth, panels, count+run)
			expect(&p.a, t.row+t.rows, t.fetched, t.block+lo, hi-lo)
		}
		b, vectors := rightOf(&p.b, k, t.block, t.depth, at/panel)
		last := min(p.c.cols-at, panel) - (vectors-1)*k.lanes
		c := target[T]{&p.c.data[t.row*p.c.stride+at], p.c.stride, last}
		k.strip(t.rows, vectors)(t.depth, a, b, c, p.alpha, beta, run)
		at, count = at+run*panel, count+run
	}
}

type copied[T Float] struct {
	data   []T
	used   int
	strips []left[T]
}

func (x *copied[T]) reset(a *operand[T], strips, height, n int) {
	rows, stride := shape[T](a, height, n)
	x.data, x.used, x.strips = cache.Aligned(x.data, strips*rows*stride), 0, x.strips[:0]
}

func (x *copied[T]) add(a *operand[T], i, height, l, n int) {
	row, col := steps(a)
	from := a.data[i*row+l*col:]
	rows, stride := shape[T](a, height, n)
	to := operand[T]{data: x.data[x.used:], stride: stride, trans: a.trans}
	for r := range rows {
		copy(to.data[r*stride:][:stride-spare[T]()], from[r*a.stride:])
	}
	x.used += rows * stride
	x.strips = append(x.strips, leftAt(&to, 0, 0))
}

func shape[T Float](a *operand[T], height, n int) (rows, stride int) {
	if a.trans {
		height, n = n, height
	}
	return height, n + spare[T]()
}

// spare returns the number of elements between two rows of a copy: a cache line, because rows that
// are a power of two apart would share few sets of a cache.
func spare[T Float]() int { return cache.Line / simd.Size[T]() }

// scale multiplies a tile of C by β, which is a product without inner indices.
func scale[T Float](c operand[T], beta T, lo, hi, from, to int) {
	for i := lo; i < hi; i++ {
		row := c.data[i*c.stride:][from:to]
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}

var (
	calls  pool.Pair[multiplication[float32], multiplication[float64]]
	packs  pool.Pair[Packed[float32], Packed[float64]]
	copies pool.Pair[copied[float32], copied[float64]]
)
