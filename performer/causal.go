package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const (
	chunkRows         = 64 // the most tokens of a chunk
	chunksPerWorker   = 4
	maxWindow         = 64 // chunks
	featuresPerPrefix = 16 // whose prefix sums are one piece
)

// purpose says what a causal pass computes. In every pass one side of the tokens asks for what the
// other side sums up [Katharopoulos et al. 2020]. With values v_j, gradients g_i of the outputs and
// denominators D_i:
//
//   - forOutputs: queries ask and keys are summed, from the first token to the last. The output of
//     query i is Σ_{j≤i} (φ_i·φ_j)·[v_j, 1], before the division.
//   - forQueries: the same way, the gradient with respect to the features of query i is
//     Σ_{j≤i} φ_j·(v_j·g_i), less the part of the denominator D_i.
//   - forKeys: keys ask and queries over D_i are summed, from the last token to the first. The
//     gradient with respect to the features of key j is Σ_{i≥j} φ_i/D_i·(g_i·v_j − δ_i), where
//     δ_i = g_i·out_i, and the gradient with respect to v_j is Σ_{i≥j} (φ_i·φ_j)/D_i·g_i.
type purpose int

const (
	forOutputs purpose = iota
	forQueries
	forKeys
)

// causal is a pass over the tokens. A ring of blocks holds the (log-)features of chunkRows tokens
// each. From the blocks a batch of chunks is cut, in the order of the pass. Then, for all chunks of
// the batch at once:
//
//   - score: what a chunk gives itself, and what it adds to the sums;
//   - prefix: the sums before each chunk, as prefix sums, with powers of two between them where the
//     reference changes;
//   - emit: the outputs or gradients, after which a block takes in the tokens of the next window.
//
// What a pass does for a token does not depend on the number of chunks of a batch.
//
// forKeys needs D_i and δ_i of forQueries, which wait in the first columns of dk and dv: both are
// written later. With logarithms log D_i waits, and a query over D_i is its log-features less log
// D_i. Where log-features are far, the rounding of log D_i is a factor of any size. Queries are
// then summed as in bidirectional attention, under the references of the keys and over a D_i
// relative to them. For that the references go back the way they came: see trail.
type causal[T dense.Float] struct {
	gradients[T] // forOutputs has q, k and v alone
	a            *Attention[T]
	dst          dense.Matrix[T] // for outputs
	purpose      purpose

	// Which keys and queries count; nil are all. Gradients are zero at queries that do not.
	keys, queries []bool

	ring   []*tokenBlock[T] // block g in the order of the pass is at g mod len(ring)
	chunks []*chunk[T]      // as many as blocks, or more
	batch  []*chunk[T]      // the chunks in use
	first  int              // block where the batch begins
	last   int              // and where it ends
	blocks []*tokenBlock[T] // of the ring, and of wider ones before

	ref     *reference[T]     // nil for features that are not logarithms
	state   scratch.Buffer[T] // m×width, the sums before the batch
	direct  directCausal[T]
	resumes bool     // state holds sums of features before the pass
	pending []change // of the reference since the last chunk was cut
	trail   trail
}

// windowOf returns the number of chunks of a batch. With one processor a chunk at a time stays in
// cache.
func windowOf(rows, processors int) int {
	if processors == 1 {
		return 1
	}
	return min(chunksPerWorker*processors, maxWindow, blocksOf(rows))
}

// blocksOf returns the number of blocks of so many tokens.
func blocksOf(rows int) int { return (rows + chunkRows - 1) / chunkRows }

// causal writes causal attention over the keys that are valid, or over all keys if valid is nil,
// into dst. A batch has window chunks, at most the number of blocks.
func (a *Attention[T]) causal(window int, dst, q, k, v dense.Matrix[T], valid []bool) {
	c := a.causals.Get()
	c.a, c.dst, c.q, c.k, c.v, c.keys = a, dst, q, k, v, valid
	if a.direct && a.m <= mostDirect {
		c.skip(c.takeDirectly())
	}
	if c.q.Rows > 0 {
		c.pass(forOutputs, min(window, blocksOf(c.q.Rows)))
	}
	c.release()
}

// causalBackward writes the gradients g of causal attention over the keys and queries that count;
// nil are all. Gradients of the others have no meaning. A batch has window chunks, at most the
// number of blocks.
func (a *Attention[T]) causalBackward(window int, g *gradients[T], keys, queries []bool) {
	c := a.causals.Get()
	c.a, c.gradients, c.keys, c.queries = a, *g, keys, queries
	if !c.pass(forQueries, window) {
		c.trail.kept = true
		c.pass(forQueries, window)
	}
	c.pass(forKeys, window)
	c.release()
}

// release gives c back to the pool, without what belongs to the caller.
func (c *causal[T]) release() {
	a := c.a
	c.a, c.gradients, c.dst, c.keys, c.queries, c.trail = nil, gradients[T]{}, dense.Matrix[T]{}, nil, nil, trail{}
	c.resumes = false
	a.causals.Put(c)
}

// back reports whether the pass goes from the last token to the first.
func (c *causal[T]) back() bool { return c.purpose == forKeys }

// pass takes all tokens in batches of window chunks. It stops and returns false if the way back
// needs a trail and none is kept.
func (c *causal[T]) pass(purpose purpose, window int) bool {
	c.purpose = purpose
	c.prepare(window)
	parallel.Do(window, (*loading[T])(c))
	for done := 0; done < c.q.Rows; {
		done = c.cut(done)
		if len(c.batch) == 1 {
			c.step()
			if c.losesTrail() {
				return false
			}
			continue
		}
		parallel.Do(len(c.batch), (*scoring[T])(c))
		if c.losesTrail() {
			return false
		}
		parallel.Do((c.a.m+featuresPerPrefix-1)/featuresPerPrefix, (*prefixing[T])(c))
		parallel.Do(c.last-c.first+1, (*emitting[T])(c))
		end := c.batch[len(c.batch)-1]
		c.state, end.sums = end.sums, c.state
	}
	return true
}

// prepare makes room for a window and empties the sums.
func (c *causal[T]) prepare(window int) {
	m, width := c.a.m, c.a.width(c.v.Cols)
	for len(c.blocks) < window {
		c.blocks = append(c.blocks, new(tokenBlock[T]))
		c.chunks = append(c.chunks, newChunk(c.a))
	}
	c.ring = c.blocks[:window]
	for i, b := range c.ring {
		b.prepare(c)
		c.chunks[i].prepare(c)
		if window > 1 {
			c.chunks[i].sums.Shape(m, width)
		}
	}
	c.state.Shape(m, width)
	if !c.resumes {
		clear(c.state.Data)
	}
	if c.retraces() {
		c.ref.undo(c.pending)
		c.pending = c.pending[:0]
		return
	}
	c.pending = c.pending[:0]
	c.trail.clear()
	if c.a.logs {
		if c.ref == nil {
			c.ref = newReference[T](m)
		}
		c.ref.setAll(none)
	}
	if c.resumes {
		c.raiseDirect()
	}
}

// step takes the only chunk of the batch through all stages: there is nothing to wait for.
func (c *causal[T]) step() {
	ch, state := c.batch[0], c.state.Rows(c.a.m)
	rescale(state, ch.before, 0, c.a.m)
	c.score(ch)
	c.emit(ch, state)
	c.add(ch, 1, state)
	c.reload(ch)
}

// loading is the task of filling the ring with the first blocks.
type loading[T dense.Float] causal[T]

func (c *loading[T]) Piece(g int) { (*causal[T])(c).load(g) }

// scoring is the task of what chunks do by themselves.
type scoring[T dense.Float] causal[T]

func (c *scoring[T]) Piece(i int) {
	ch := c.batch[i]
	(*causal[T])(c).score(ch)
	(*causal[T])(c).add(ch, 0, ch.sums.Rows(c.a.m))
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
		rescale(before, ch.before, lo, hi)
		addRows(sums, before, lo, hi)
		before = sums
	}
}

// emitting is the task of what a batch gives, a block of tokens a piece.
type emitting[T dense.Float] causal[T]

func (c *emitting[T]) Piece(i int) {
	b := c.ring[(c.first+i)%len(c.ring)]
	before := &c.state
	for _, ch := range c.batch {
		if ch.block == b {
			(*causal[T])(c).emit(ch, before.Rows(c.a.m))
			(*causal[T])(c).reload(ch)
		}
		before = &ch.sums
	}
}
