package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/scratch"
)

const (
	chunkRows         = 64 // the most tokens of a chunk
	chunksPerWorker   = 4
	maxWindow         = 64 // chunks
	featuresPerPrefix = 16 // whose prefix sums are one piece
)

// causal is one call of causal attention. A ring of slots holds the (log-)features
// and values of as many blocks of chunkRows tokens. From these a batch of chunks is
// cut, in order. Then, for all chunks of the batch at once: what a chunk gives itself
// and what it adds to the sums (scoring); the sums before each chunk, as prefix sums
// with powers of two between them where the reference changes (prefixing); the
// outputs, after which a slot takes in the tokens of the next window (emitting).
//
// What is done for a row does not depend on how many chunks a batch has.
type causal[T dense.Float] struct {
	a            *Attention[T]
	dst, q, k, v dense.Matrix[T]
	valid        []bool // keys that count; nil are all

	slots  []*slot[T]  // block g of the tokens is in slot g mod len(slots)
	chunks []*chunk[T] // as many, or more
	batch  []*chunk[T] // the chunks in use
	first  int         // block where the batch begins
	last   int         // and where it ends
	kept   []*slot[T]  // all slots, those of wider windows too

	ref     *reference[T]     // nil for features that are not logarithms
	state   scratch.Buffer[T] // m×width, the sums before the batch
	pending []change          // of the reference since the last chunk was cut
}

// causal computes causal attention with batches for so many processors.
func (a *Attention[T]) causal(dst, q, k, v dense.Matrix[T], processors int) {
	a.causalIn(windowOf(q.Rows, processors), dst, q, k, v)
}

// windowOf returns the number of chunks of a batch. With one processor a chunk at a
// time stays in cache.
func windowOf(rows, processors int) int {
	if processors == 1 {
		return 1
	}
	return min(chunksPerWorker*processors, maxWindow, blocksOf(rows))
}

// blocksOf returns the number of blocks of so many tokens.
func blocksOf(rows int) int { return (rows + chunkRows - 1) / chunkRows }

// causalIn is causal attention in batches of so many chunks, not more than there are
// blocks.
func (a *Attention[T]) causalIn(window int, dst, q, k, v dense.Matrix[T]) {
	a.causalOver(window, dst, q, k, v, nil)
}

// causalOver is causalIn over the keys that are valid, or over all of them if valid is
// nil.
func (a *Attention[T]) causalOver(window int, dst, q, k, v dense.Matrix[T], valid []bool) {
	c := a.causals.Get()
	c.a, c.dst, c.q, c.k, c.v, c.valid = a, dst, q, k, v, valid
	c.prepare(window)
	parallel.Do(window, (*loading[T])(c))
	for at := 0; at < q.Rows; {
		at = c.cut(at)
		if len(c.batch) == 1 {
			c.step()
			continue
		}
		parallel.Do(len(c.batch), (*scoring[T])(c))
		parallel.Do((a.m+featuresPerPrefix-1)/featuresPerPrefix, (*prefixing[T])(c))
		parallel.Do(c.last-c.first+1, (*emitting[T])(c))
		end := c.batch[len(c.batch)-1]
		c.state, end.sums = end.sums, c.state
	}
	var none dense.Matrix[T]
	c.a, c.dst, c.q, c.k, c.v, c.valid = nil, none, none, none, none, nil
	a.causals.Put(c)
}

// prepare makes room for a window and empties the sums.
func (c *causal[T]) prepare(window int) {
	m, width := c.a.m, c.a.width(c.v.Cols)
	for len(c.kept) < window {
		c.kept = append(c.kept, &slot[T]{peaks: make([]T, m)})
		c.chunks = append(c.chunks, newChunk(c.a))
	}
	c.slots = c.kept[:window]
	for i, s := range c.slots {
		s.queries.Shape(chunkRows, m)
		s.keys.Shape(chunkRows, m)
		s.values.Shape(chunkRows, width)
		c.chunks[i].out.Shape(chunkRows, width)
		if window > 1 {
			c.chunks[i].sums.Shape(m, width)
		}
	}
	c.state.Shape(m, width)
	clear(c.state.Data)
	c.pending = c.pending[:0]
	if c.a.logKey != nil {
		if c.ref == nil {
			c.ref = newReference[T](m)
		}
		c.ref.reset()
	}
}

// step takes the only chunk of the batch through all stages: there is nothing to
// wait for.
func (c *causal[T]) step() {
	ch, state := c.batch[0], c.state.Rows(c.a.m)
	rescale(state, ch.before, 0, c.a.m)
	ch.score(c.a)
	ch.emit(c.a, c.dst, state)
	ch.addTo(1, state)
	c.reload(ch)
}

// scoring is the task of what chunks do by themselves.
type scoring[T dense.Float] causal[T]

func (c *scoring[T]) Piece(i int) {
	ch := c.batch[i]
	ch.score(c.a)
	ch.addTo(0, ch.sums.Rows(c.a.m))
}

// prefixing is the task of adding to the sums of each chunk those of all before it,
// some features a piece.
type prefixing[T dense.Float] causal[T]

func (c *prefixing[T]) Piece(g int) {
	lo := g * featuresPerPrefix
	hi := min(lo+featuresPerPrefix, c.a.m)
	before := c.state.Rows(c.a.m)
	for _, ch := range c.batch {
		sums := ch.sums.Rows(c.a.m)
		carry(sums, before, ch.before, lo, hi)
		before = sums
	}
}

// emitting is the task of the outputs of the batch, a block of tokens a piece.
type emitting[T dense.Float] causal[T]

func (c *emitting[T]) Piece(i int) {
	s := c.slots[(c.first+i)%len(c.slots)]
	before := &c.state
	for _, ch := range c.batch {
		if ch.slot == s {
			ch.emit(c.a, c.dst, before.Rows(c.a.m))
			(*causal[T])(c).reload(ch)
		}
		before = &ch.sums
	}
}
