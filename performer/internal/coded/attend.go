package coded

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// LeastQueries is the least number of queries for which codes repay the time to make them.
const LeastQueries = 64

// Takes reports whether Attend can compute a in 8 bits: scores are products of at most
// [bytedot.MostInner] coordinates, and the mask consists of runs of keys.
func Takes[T dense.Float](a tiles.Head[T]) bool {
	return a.Scores.Softcap == 0 && a.Mask.Slope == 0 && !a.Mask.Pairs.Given() && a.Q.Cols > 0 && a.Q.Cols <= bytedot.MostInner/2
}

// Attend computes the outputs of attention for which Takes is true. The output of a query that sees
// no key is zero. Bits do not depend on GOMAXPROCS, and bits of a causal output do not depend on
// later keys.
func Attend[T dense.Float](a tiles.Head[T]) {
	if a.Q.Rows == 0 || a.V.Cols == 0 {
		return
	}
	c := pool.Get[codedHead[T]](&calls)
	c.begin(a)
	c.attend()
	c.end()
}

func (c *codedHead[T]) attend() bool {
	if c.store.exact || !c.store.large() {
		c.run()
		return true
	}
	c.Q = c.Q.Clone() // Dst may be Q
	c.run()
	c.again()
	return false
}

func (c *codedHead[T]) end() {
	c.Head, c.blocks = tiles.Head[T]{}, nil
	pool.Put(&calls, c)
}

type codedHead[T dense.Float] struct {
	tiles.Head[T]
	store      *store[T]
	blocks     *blockChooser[T] // nil if queries read all keys that they see
	chooser    blockChooser[T]  // memory of blocks
	rows, skip int
}

var calls pool.Pair[codedHead[float32], codedHead[float64]]

func (c *codedHead[T]) begin(a tiles.Head[T]) {
	c.Head = a
	if c.store == nil {
		c.store = new(store[T])
	}
	if c.store.exact = false; c.blocks == nil {
		c.store.encode(a.K, a.V, a.Mask.Valid, tiles.Keys)
		c.divide(c.blockSize())
		return
	}
	c.store.exact = !c.blocks.eightBits
	c.store.encode(a.K, a.V, a.Mask.Valid, BlockKeys)
	c.divide(BlockQueries)
	c.blocks.choose(c)
}

func (c *codedHead[T]) divide(rows int) {
	c.rows, c.skip = rows, c.Mask.Place(0)%rows
	if c.skip < 0 {
		c.skip += rows
	}
}

func (c *codedHead[T]) pieces() int { return (c.skip + c.Q.Rows + c.rows - 1) / c.rows }

func (c *codedHead[T]) queries(i int) (lo, hi int) {
	return max(i*c.rows-c.skip, 0), min((i+1)*c.rows-c.skip, c.Q.Rows)
}

func (c *codedHead[T]) run() { parallel.Do(c.pieces(), c) }

// blockSize returns the number of queries of a block, a power of two that divides a tile. Blocks
// begin at multiples of it, so that the bits of causal outputs do not depend on where a call
// begins.
func (c *codedHead[T]) blockSize() int {
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

func (c *codedHead[T]) Piece(i int) {
	if c.blocks != nil {
		i = c.pieces() - 1 - i // the last blocks may take the longest
	}
	lo, hi := c.queries(i)
	b := pool.Get[queryBlock[T]](&blocks)
	if c.blocks == nil {
		b.parts = c.Mask.AppendParts(b.parts[:0], lo, hi, c.K.Rows)
	} else {
		b.parts = c.blocks.appendParts(c, b.parts[:0], i)
	}
	b.begin(c, lo, hi, b.parts)
	for _, p := range b.parts {
		b.addPart(c, p)
	}
	b.finish(c)
	b.release()
}

// coded reports whether the codes of tile t are used for queries from query first on: codes must
// stand for the tile, and for causal queries the tile must be complete before them.
func (c *codedHead[T]) coded(t, first int) bool {
	return c.store.usual[t] && (!c.Mask.Causal || t < c.Mask.Place(first)/c.store.size)
}

// whole reports whether all keys of tile t count, and queries for which its codes are used see
// all of them, in this call and in calls with other queries.
func (c *codedHead[T]) whole(t int) bool {
	lo := t * c.store.size
	return c.Mask.Window == 0 && c.Mask.Together(lo, lo+c.store.size) && c.store.full[t]
}

// octaves is the factor of natural logarithms.
const octaves = math.Log2E * bytedot.Octave
