package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/scratch"
)

// slot holds a block of chunkRows tokens, or what is left of them at the end.
type slot[T dense.Float] struct {
	lo, rows              int
	dv                    int // columns of the values without that of ones
	queries, keys, values scratch.Buffer[T]
	peaks                 []T // of the log-features of all keys
}

// loading is the task of filling slots with the first blocks.
type loading[T dense.Float] causal[T]

func (c *loading[T]) Piece(g int) { (*causal[T])(c).load(g) }

// load fills the slot of block g.
func (c *causal[T]) load(g int) {
	s := c.slots[g%len(c.slots)]
	lo := g * chunkRows
	hi := min(lo+chunkRows, c.q.Rows)
	s.lo, s.rows, s.dv = lo, hi-lo, c.v.Cols
	c.a.mapQueries(s.queries.Rows(s.rows), c.q.RowRange(lo, hi))
	c.a.mapKeys(s.keys.Rows(s.rows), c.k.RowRange(lo, hi))
	extend(s.values.Rows(s.rows), c.v.RowRange(lo, hi))
	if c.valid != nil {
		c.hide(s)
	}
	if c.ref != nil {
		peaksOf(s.peaks, s.keys.Rows(s.rows))
	}
}

// reload fills the slot of a chunk with the block that takes its place in the ring,
// if the chunk was the last of its block.
func (c *causal[T]) reload(ch *chunk[T]) {
	s := ch.slot
	if g := s.lo/chunkRows + len(c.slots); ch.to == s.rows && g < blocksOf(c.q.Rows) {
		c.load(g)
	}
}

// cut cuts the batch that begins at row at, and returns where it ends. Its chunks
// lie in slots that are filled: as many chunks as there are slots cannot reach beyond
// them.
func (c *causal[T]) cut(at int) int {
	c.first = at / chunkRows
	c.batch = c.batch[:0]
	for len(c.batch) < len(c.slots) && at < c.q.Rows {
		c.last = at / chunkRows
		s, ch := c.slots[c.last%len(c.slots)], c.chunks[len(c.batch)]
		ch.slot, ch.from = s, at-s.lo
		ch.to = ch.from + c.open(ch)
		c.batch = append(c.batch, ch)
		at = s.lo + ch.to
	}
	return at
}

// open raises the reference to the first of the keys left in the slot of ch and
// returns how many of them can share it. Neither depends on a key that a row of the
// chunk must not see: the chunk ends before the first key that would not fit. The
// reference that it leaves is for the keys after the chunk.
func (c *causal[T]) open(ch *chunk[T]) int {
	s := ch.slot
	keys := s.keys.Rows(s.rows).RowRange(ch.from, s.rows)
	if c.ref == nil {
		return keys.Rows
	}
	ch.before = c.ref.raise(keys.Row(0), append(ch.before[:0], c.pending...))
	ch.ref.copyOf(c.ref)
	peaks, n := s.peaks, keys.Rows
	if ch.from > 0 || !c.ref.admitsAll(peaks) {
		n = c.ref.admits(keys)
		peaks = ch.scratch
		peaksOf(peaks, keys.RowRange(0, n))
	}
	c.pending = c.ref.raise(peaks, c.pending[:0])
	return n
}

// extend copies v into the first columns of dst and ones into the last, if dst has
// one more: numerator and denominator then are sums of the same products in the
// same order, and values that are all one come out as exactly one.
func extend[T dense.Float](dst, v dense.Matrix[T]) {
	for i := range v.Rows {
		row := dst.Row(i)
		for j := copy(row, v.Row(i)); j < len(row); j++ {
			row[j] = 1
		}
	}
}
