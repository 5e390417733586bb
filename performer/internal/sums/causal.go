package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

const (
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

// causal is a pass over the tokens. A ring of blocks holds the (log-)features of ChunkRows tokens
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
	Gradients[T] // forOutputs has q, k and v alone
	e            *Engine[T]
	dst          dense.Matrix[T] // for outputs
	purpose      purpose
	stage        stage

	// Which keys and queries count; nil are all. Gradients are zero at queries that do not.
	keys, queries []bool

	ring   []*tokenBlock[T] // block g in the order of the pass is at g mod len(ring)
	chunks []*chunk[T]      // as many as blocks, or more
	batch  []*chunk[T]      // the chunks in use
	first  int              // block where the batch begins
	last   int              // and where it ends
	blocks []*tokenBlock[T] // of the ring, and of wider ones before

	ref     *logscale.Reference[T] // nil for features that are not logarithms
	state   scratch.Buffer[T]      // m×width, the sums before the batch
	direct  directCausal[T]
	resumes bool              // state holds sums of features before the pass
	pending []logscale.Change // of the reference since the last chunk was cut
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
func blocksOf(rows int) int { return (rows + ChunkRows - 1) / ChunkRows }

// ForwardCausal writes causal attention of at least one token over the keys that are valid, or over
// all keys if valid is nil, into dst, with the given number of processors.
func (e *Engine[T]) ForwardCausal(processors int, dst, q, k, v dense.Matrix[T], valid []bool) {
	e.causal(windowOf(q.Rows, processors), dst, q, k, v, valid)
}

// BackwardCausal writes the gradients g of ForwardCausal, of which none is empty, over the keys and
// queries that count; nil are all. Gradients of the others have no meaning.
func (e *Engine[T]) BackwardCausal(processors int, g *Gradients[T], keys, queries []bool) {
	e.causalBackward(windowOf(g.Q.Rows, processors), g, keys, queries)
}

// causal writes causal attention over the keys that are valid, or over all keys if valid is nil,
// into dst. A batch has window chunks, at most the number of blocks.
func (e *Engine[T]) causal(window int, dst, q, k, v dense.Matrix[T], valid []bool) {
	c := e.memory.causals.Get()
	c.e, c.dst, c.Q, c.K, c.V, c.keys = e, dst, q, k, v, valid
	if e.Direct != nil && e.M <= mostDirect {
		c.skip(c.takeDirectly())
	}
	if c.Q.Rows > 0 {
		c.pass(forOutputs, min(window, blocksOf(c.Q.Rows)))
	}
	c.release()
}

// causalBackward writes the gradients g of causal attention over the keys and queries that count;
// nil are all. Gradients of the others have no meaning. A batch has window chunks, at most the
// number of blocks.
func (e *Engine[T]) causalBackward(window int, g *Gradients[T], keys, queries []bool) {
	c := e.memory.causals.Get()
	c.e, c.Gradients, c.keys, c.queries = e, *g, keys, queries
	if !c.pass(forQueries, window) {
		c.trail.kept = true
		c.pass(forQueries, window)
	}
	c.pass(forKeys, window)
	c.release()
}

// release gives c back to the pool, without what belongs to the caller.
func (c *causal[T]) release() {
	e := c.e
	c.e, c.Gradients, c.dst, c.keys, c.queries, c.trail = nil, Gradients[T]{}, dense.Matrix[T]{}, nil, nil, trail{}
	c.resumes = false
	e.memory.causals.Put(c)
}

// back reports whether the pass goes from the last token to the first.
func (c *causal[T]) back() bool { return c.purpose == forKeys }

// pass takes all tokens in batches of window chunks. It stops and returns false if the way back
// needs a trail and none is kept.
func (c *causal[T]) pass(purpose purpose, window int) bool {
	c.purpose = purpose
	c.prepare(window)
	c.do(load, window)
	for done := 0; done < c.Q.Rows; {
		done = c.cut(done)
		if len(c.batch) == 1 {
			c.step()
			if c.losesTrail() {
				return false
			}
			continue
		}
		c.do(score, len(c.batch))
		if c.losesTrail() {
			return false
		}
		c.do(prefix, (c.e.M+featuresPerPrefix-1)/featuresPerPrefix)
		c.do(emit, c.last-c.first+1)
		end := c.batch[len(c.batch)-1]
		c.state, end.sums = end.sums, c.state
	}
	return true
}

// prepare makes room for a window and empties the sums.
func (c *causal[T]) prepare(window int) {
	m, width := c.e.M, c.e.Width(c.V.Cols)
	for len(c.blocks) < window {
		c.blocks = append(c.blocks, new(tokenBlock[T]))
		c.chunks = append(c.chunks, newChunk(c.e))
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
		c.ref.Undo(c.pending)
		c.pending = c.pending[:0]
		return
	}
	c.pending = c.pending[:0]
	c.trail.clear()
	if c.e.Logs {
		if c.ref == nil {
			c.ref = logscale.NewReference[T](m)
		}
		c.ref.SetAll(logscale.None)
	}
	if c.resumes {
		c.raiseDirect()
	}
}

// step takes the only chunk of the batch through all stages: there is nothing to wait for.
func (c *causal[T]) step() {
	ch, state := c.batch[0], c.state.Rows(c.e.M)
	rescale(state, ch.before, 0, c.e.M)
	c.score(ch)
	c.emit(ch, state)
	c.add(ch, 1, state)
	c.reload(ch)
}

// stage says which part of a batch a piece is one of.
type stage int

const (
	load   stage = iota // filling the ring with the first blocks
	score               // what chunks do by themselves
	prefix              // adding to the sums of each chunk those of all before it, some features a piece
	emit                // what a batch gives, a block of tokens a piece
)

// do takes the n pieces of a stage.
func (c *causal[T]) do(stage stage, n int) {
	c.stage = stage
	parallel.Do(n, c)
}

func (c *causal[T]) Piece(i int) {
	switch c.stage {
	case load:
		c.load(i)
	case score:
		ch := c.batch[i]
		c.score(ch)
		c.add(ch, 0, ch.sums.Rows(c.e.M))
	case prefix:
		c.prefix(i)
	case emit:
		c.emitBlock(i)
	}
}

// prefix adds the sums before each chunk, of some features.
func (c *causal[T]) prefix(g int) {
	lo := g * featuresPerPrefix
	hi := min(lo+featuresPerPrefix, c.e.M)
	before := c.state.Rows(c.e.M)
	for _, ch := range c.batch {
		sums := ch.sums.Rows(c.e.M)
		rescale(before, ch.before, lo, hi)
		AddRows(sums, before, lo, hi)
		before = sums
	}
}

// emitBlock gives what the chunks of a block give.
func (c *causal[T]) emitBlock(i int) {
	b := c.ring[(c.first+i)%len(c.ring)]
	before := &c.state
	for _, ch := range c.batch {
		if ch.block == b {
			c.emit(ch, before.Rows(c.e.M))
			c.reload(ch)
		}
		before = &ch.sums
	}
}
