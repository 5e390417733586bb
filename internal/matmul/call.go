package matmul

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

const (
	// stripsPerPiece is the largest number of strips of rows that go together: their rows of A stay
	// in the second cache for all panels.
	stripsPerPiece = 8
	// tileColumns is the number of columns after which an epilogue is called.
	tileColumns = 512
	// tileBytes is the size of a tile that stays in the first cache until its epilogue.
	tileBytes = 1 << 14
	// serialBelow is the number of multiply-adds under which one goroutine is
	// faster.
	serialBelow = 1 << 20
)

// call is one product.
type call[T Float] struct {
	alpha, beta T
	a           view[T]
	b           *Packed[T]
	c           view[T]
	done        Epilogue
	strips      int // of rows of C, of nearly equal height
	pieces      int // of the strips
}

func mulPacked[T Float](alpha T, a view[T], b *Packed[T], beta T, c view[T], done Epilogue) {
	check(a, b.rows, b.cols, c)
	if c.rows == 0 || c.cols == 0 {
		return
	}
	p := pool.Get[call[T]](&calls)
	*p = call[T]{alpha: alpha, beta: beta, a: a, b: b, c: c, done: done}
	p.split()
	if p.pieces == 1 {
		p.Piece(0)
	} else {
		parallel.Do(p.pieces, p)
	}
	*p = call[T]{}
	pool.Put(&calls, p)
}

// split chooses the number of pieces: enough for every processor to have some, not
// more strips in one than stay in cache. Results do not depend on it.
func (p *call[T]) split() {
	p.strips = Strips[T](p.c.rows)
	p.pieces = (p.strips + stripsPerPiece - 1) / stripsPerPiece
	if float64(p.c.rows)*float64(p.c.cols)*float64(p.b.rows) < serialBelow {
		return
	}
	if helpers := parallel.Idle(); helpers > 0 {
		p.pieces = min(p.strips, max(p.pieces, 4*(helpers+1)))
	}
}

// Piece computes some strips of C.
func (p *call[T]) Piece(i int) {
	first, end := parallel.Share(p.strips, p.pieces, i), parallel.Share(p.strips, p.pieces, i+1)
	if p.done == nil {
		p.tile(first, end, 0, p.c.cols)
		return
	}
	columns := min(p.c.cols, tileColumns)
	strips := max(1, tileBytes/(columns*size[T]()*best[T]().mostRows()))
	for ; first < end; first += strips {
		last := min(first+strips, end)
		for from := 0; from < p.c.cols; from += columns {
			to := min(from+columns, p.c.cols)
			p.tile(first, last, from, to)
			p.done.Finish(p.row(first), p.row(last), from, to)
		}
	}
}

// row returns the first row of a strip.
func (p *call[T]) row(strip int) int { return parallel.Share(p.c.rows, p.strips, strip) }

// tile computes strips first ≤ s < end and columns from ≤ j < to of C.
func (p *call[T]) tile(first, end, from, to int) {
	k := best[T]()
	panel := 2 * k.lanes
	beta := p.beta
	if p.b.rows == 0 {
		p.scale(p.row(first), p.row(end), from, to)
	}
	for block := 0; block < p.b.rows; block += depth {
		n := min(depth, p.b.rows-block)
		for at := from; at < to; at += panel {
			b, vectors := p.b.panel(k, block, n, at/panel)
			last := min(p.c.cols-at, panel) - (vectors-1)*k.lanes
			for s := first; s < end; s++ {
				i, rows := p.row(s), p.row(s+1)-p.row(s)
				c := target[T]{&p.c.data[i*p.c.stride+at], p.c.stride, last}
				k.strip(rows, vectors)(n, p.a.from(i, block), &b[0], c, p.alpha, beta)
			}
		}
		beta = 1
	}
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
	calls pool.Both[call[float32], call[float64]]
	packs pool.Both[Packed[float32], Packed[float64]]
)

// size returns the size of an element in bytes.
func size[T Float]() int {
	var v T
	return int(unsafe.Sizeof(v))
}
