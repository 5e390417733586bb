package coded

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// LeastQueries is the least number of queries for which codes of keys and values repay the time
// that it takes to make them.
const LeastQueries = 64

// Takes reports whether Attend can compute a in 8 bits: scores are products of at most
// [bytedot.MostInner] coordinates, and the mask consists of runs of keys.
func Takes[T dense.Float](a tiles.Attention[T]) bool {
	return a.Scores.Softcap == 0 && a.Mask.Slope == 0 && !a.Mask.Pairs.Given() && a.Q.Cols > 0 && a.Q.Cols <= bytedot.MostInner/2
}

// Attend computes the outputs of attention for which Takes is true. The output of a query that sees
// no key is zero. Bits do not depend on GOMAXPROCS, and bits of a causal output do not depend on
// later keys.
func Attend[T dense.Float](a tiles.Attention[T]) {
	if a.Q.Rows == 0 || a.V.Cols == 0 {
		return
	}
	c := pool.Get[call[T]](&calls)
	c.begin(a)
	if c.store.large() {
		c.Q = a.Q.Clone() // Dst may be Q
		c.run()
		c.again()
	} else {
		c.run()
	}
	c.Attention = tiles.Attention[T]{}
	pool.Put(&calls, c)
}

// call is a call of Attend. A piece is a block of queries.
type call[T dense.Float] struct {
	tiles.Attention[T]
	store      store[T]
	rows, skip int
}

var calls pool.Pair[call[float32], call[float64]]

// begin encodes keys and values, and sets how queries are divided into blocks.
func (c *call[T]) begin(a tiles.Attention[T]) {
	c.Attention = a
	c.store.encode(a.K, a.V, a.Mask.Valid)
	c.rows = c.blockSize()
	c.skip = a.Mask.Place(0) % c.rows
	if c.skip < 0 {
		c.skip += c.rows
	}
}

// run computes the outputs.
func (c *call[T]) run() { parallel.Do((c.skip+c.Q.Rows+c.rows-1)/c.rows, c) }

// blockSize returns the number of queries of a block, a power of two that divides a tile. Blocks
// begin at multiples of it, so that the bits of causal outputs do not depend on where a call
// begins.
func (c *call[T]) blockSize() int {
	const least = 64
	if c.Mask.Window > 0 {
		return least
	}
	rows := tiles.Keys
	if c.Mask.Causal {
		rows /= 2
	}
	for rows > least && c.Q.Rows < 16*rows {
		rows /= 2
	}
	return rows
}

// Piece computes the outputs of a block of queries.
func (c *call[T]) Piece(i int) {
	lo, hi := max(i*c.rows-c.skip, 0), min((i+1)*c.rows-c.skip, c.Q.Rows)
	b := pool.Get[block[T]](&blocks)
	b.begin(c, lo, hi)
	b.parts = c.Mask.AppendParts(b.parts[:0], lo, hi, c.K.Rows)
	for _, p := range b.parts {
		t := p.From / tiles.Keys
		if c.coded(t, lo) {
			b.add(c, t, p)
			continue
		}
		if b.exact == nil {
			b.exact = tiles.NewTile(c.Scores, c.Q.RowRange(lo, hi), c.V.Cols)
		}
		b.exact.AddPart(c.K.RowRange(p.From, p.To), c.V.RowRange(p.From, p.To), &c.Mask, lo, p)
	}
	b.finish(c)
	if b.exact != nil {
		b.exact.Release()
		b.exact = nil
	}
	pool.Put(&blocks, b)
}

// coded reports whether the codes of tile t are used for queries from query first on: codes must
// stand for the tile, and for causal queries the tile must be complete and have no later key.
func (c *call[T]) coded(t, first int) bool {
	return c.store.usual[t] && (!c.Mask.Causal || (t+1)*tiles.Keys <= c.Mask.Place(first)+1)
}

// whole reports whether tile t has tiles.Keys keys, and queries for which its codes are used see
// all of them, in this call and in calls with other queries.
func (c *call[T]) whole(t int) bool {
	lo := t * tiles.Keys
	return c.Mask.Window == 0 && c.Mask.Together(lo, lo+tiles.Keys) && c.store.full[t]
}

// octaves is the factor of natural logarithms.
const octaves = math.Log2E * bytedot.Octave
