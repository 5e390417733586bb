package matmul

import (
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

const (
	// With up to fewRows rows of A the product takes the time to read B, in place.
	fewRows = 8
	// fewEach is about the number of elements of B that a processor reads at a time.
	fewEach = 1 << 17
	// fewAhead is the number of bytes of B that kernels read before what they prefetch into the
	// second cache. longAhead is for rows of B longer than a call of a kernel.
	fewAhead  = 1 << 13
	longAhead = 1 << 12
	// fewBytes is the largest number of bytes of a row of B that are read before the next rows.
	fewBytes = 1 << 12
)

type few[T Float] struct {
	alpha, beta T
	a, b, c     operand[T]
	columns     int // of a piece
	rows        []T // memory of the rows of A
}

// mulFew returns false if A has many rows, B has too few rows or columns, or the tier no kernels.
func mulFew[T Float](alpha T, a, b operand[T], beta T, c operand[T]) bool {
	k := best[T]()
	if c.rows == 0 || c.rows > fewRows || b.rows == 0 || b.cols < k.lanes || k.dots == nil {
		return false
	}
	p := pool.Get[few[T]](&fews)
	p.alpha, p.beta, p.a, p.b, p.c = alpha, beta, a, b, c
	if a.trans && b.trans {
		p.gather()
	}
	panel, columns := 2*k.lanes, fewEach/b.rows
	if !b.trans {
		columns = max(columns, b.cols/2/(parallel.Idle()+1), fewBytes/2/simd.Size[T]())
	}
	p.columns = max((columns+panel-1)/panel, 1) * panel
	parallel.Do((b.cols+p.columns-1)/p.columns, p)
	p.a, p.b, p.c = operand[T]{}, operand[T]{}, operand[T]{}
	pool.Put(&fews, p)
	return true
}

func (p *few[T]) gather() {
	n := p.a.cols
	p.rows = cache.Aligned(p.rows, p.a.rows*n)
	for l := range n {
		for i, x := range p.a.data[l*p.a.stride:][:p.a.rows] {
			p.rows[i*n+l] = x
		}
	}
	p.a = operand[T]{rows: p.a.rows, cols: n, data: p.rows, stride: n}
}

func (p *few[T]) Piece(i int) {
	from := i * p.columns
	to := min(from+p.columns, p.c.cols)
	s := pool.Get[fewScratch[T]](&fewSums)
	if p.b.trans {
		p.dots(s, from, to)
	} else {
		p.adds(s, from, to)
	}
	pool.Put(&fewSums, s)
}

type fewScratch[T Float] struct {
	data []T
	wide []T // elements of 16 bits
	one  T
}

func (p *few[T]) at(i, j, last int) target[T] {
	return target[T]{&p.c.data[i*p.c.stride+j], p.c.stride, last}
}

func (p *few[T]) dots(s *fewScratch[T], from, to int) {
	k := best[T]()
	whole := from + (to-from)/k.lanes*k.lanes
	// A call of a kernel takes one panel if rows are long, and prefetches parts of these rows.
	// Otherwise the call takes all panels, and prefetches panels.
	size, half := k.lanes*simd.Size[T](), []halfStrip[T](nil)
	if p.b.half != nil {
		size, half = 2*k.lanes, k.halfDots[format(p.b.bfloat)]
	}
	panels, ahead := 1, aheadBy(longAhead, k.lanes*size, size)
	if p.b.rows <= depth && (p.b.half == nil || p.inPlace(p.b.rows)) {
		panels, ahead = max((whole-from)/k.lanes, 1), aheadBy(fewAhead, p.b.rows*size, p.b.stride*size)
	}
	strips := (p.c.rows + len(k.dots) - 1) / len(k.dots)
	twoPanels := panels == 1 && p.c.rows == 1 && p.inPlace(p.b.rows) // as chains of sums side by side
	for at := from; at < to; at += panels * k.lanes {
		if twoPanels {
			panels = min(max((whole-at)/k.lanes, 1), 2)
		}
		beta := p.beta
		for block := 0; block < p.b.rows; block += depth {
			n := min(depth, p.b.rows-block)
			inPlace := at < whole && p.inPlace(n)
			var wide right[T]
			if !inPlace {
				b, stride := widened(&p.b, &s.wide, at, min(at+k.lanes, to), block, n)
				if at == whole {
					p.rest(s, b, stride, block, n, at, to, beta)
					beta = 1
					continue
				}
				wide = right[T]{&b[0], stride, k.lanes * stride, ahead}
			}
			for strip := range strips {
				i, end := parallel.Share(p.c.rows, strips, strip), parallel.Share(p.c.rows, strips, strip+1)
				if a, c := leftAt(&p.a, i, block), p.at(i, at, k.lanes); inPlace {
					b := right[uint16]{&p.b.half[at*p.b.stride+block], p.b.stride, k.lanes * p.b.stride, ahead}
					half[end-i-1](n, a, b, c, p.alpha, beta, panels)
				} else {
					k.dots[end-i-1](n, a, wide, c, p.alpha, beta, panels)
				}
			}
			beta = 1
		}
	}
}

// inPlace reports whether kernels read n elements of 16 bits of each column of B in place.
func (p *few[T]) inPlace(n int) bool {
	k := best[T]()
	return p.b.half != nil && k.halfDots[0] != nil && n%(2*k.lanes) == 0
}

// aheadBy returns the distance of what is at least so many bytes further on, if a kernel reads so
// many bytes in each step of a distance.
func aheadBy(least, bytes, distance int) int { return (least + bytes - 1) / bytes * distance }

// rest adds the products of a block of n inner indices for the last columns of C, which are fewer
// than a vector. Columns of b are stride apart.
func (p *few[T]) rest(s *fewScratch[T], b []T, stride, block, n, at, to int, beta T) {
	k := best[T]()
	s.data = cache.Aligned(s.data, n*k.lanes)
	packPanel(k, s.data, b, n, 1, to-at, 1, stride)
	for i := range p.c.rows {
		k.strip(1, 1)(n, leftAt(&p.a, i, block), right[T]{first: &s.data[0], row: k.lanes}, p.at(i, at, to-at), p.alpha, beta, 1)
	}
}

// adds computes columns from ≤ j < to of C from one row of B after another, as many columns at a
// time as have their sums in the first cache.
func (p *few[T]) adds(s *fewScratch[T], from, to int) {
	panel := 2 * best[T]().lanes
	width := min(max(min(tileBytes/p.c.rows, fewBytes)/simd.Size[T]()/panel, 1), (to-from+panel-1)/panel) * panel
	s.data, s.one = cache.Aligned(s.data, p.c.rows*width), 1
	for ; from < to; from += width {
		beta := p.beta
		for block := 0; block < p.b.rows; block += depth {
			clear(s.data)
			n, end := min(depth, p.b.rows-block), min(from+width, to)
			at := from + (end-from)/panel*panel
			p.add(s, block, n, from, from, at, beta, 2)
			if left := end - at; left >= panel/2 {
				p.add(s, block, n, from, at, at+panel/2, beta, 1)
				at += panel / 2
			}
			p.add(s, block, n, from, at, end, beta, 1)
			beta = 1
		}
	}
}

// add adds the products of a block of n inner indices for columns at ≤ j < to, in panels of so many
// vectors. The sums begin with column first.
func (p *few[T]) add(s *fewScratch[T], block, n, first, at, to int, beta T, vectors int) {
	if at == to {
		return
	}
	k := best[T]()
	panels := (to - at + vectors*k.lanes - 1) / (vectors * k.lanes)
	last := to - at - (panels*vectors-1)*k.lanes
	row := 4 * simd.Size[T]()
	ahead := aheadBy(fewAhead, (to-at)*row, p.b.stride*row)
	sums, size := s.data[(at-first)*p.c.rows:], vectors*k.lanes
	for i, rows := range [...]int{4, 1} {
		done := i * (n / 4 * 4)
		if count := (n - done) / rows; count > 0 {
			b := right[T]{first: &p.b.data[(block+done)*p.b.stride+at], row: p.b.stride, ahead: ahead}
			k.adds[vectors-1][1-i](count, p.c.rows, leftAt(&p.a, 0, block+done), b, &sums[0], last, panels)
		}
	}
	for i := range p.c.rows {
		b := right[T]{first: &sums[i*size], panel: p.c.rows * size}
		k.strip(1, vectors)(1, left[T]{first: &s.one}, b, p.at(i, at, last), p.alpha, beta, panels)
	}
}

var (
	fews    pool.Pair[few[float32], few[float64]]
	fewSums pool.Pair[fewScratch[float32], fewScratch[float64]]
)
