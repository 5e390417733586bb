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

// purpose says what a causal pass computes. In every pass one side of the tokens is summed, and the
// other side reads the sums [Katharopoulos et al. 2020]. With values v_j, gradients g_i of the
// outputs and denominators D_i:
//
//   - forOutputs: keys are summed and queries read, from the first token to the last. The output of
//     query i is Σ_{j≤i} (φ_i·φ_j)·[v_j, 1], before the division.
//   - forQueries: keys are summed and queries read. The gradient with respect to the features of
//     query i is Σ_{j≤i} φ_j·(v_j·g_i), less the term of the denominator D_i.
//   - forKeys: queries over D_i are summed and keys read, from the last token to the first. The
//     gradient with respect to the features of key j is Σ_{i≥j} φ_i/D_i·(g_i·v_j − δ_i), where δ_i
//     = g_i·out_i, and the gradient with respect to v_j is Σ_{i≥j} (φ_i·φ_j)/D_i·g_i.
type purpose int

const (
	forOutputs purpose = iota
	forQueries
	forKeys
)

// causal is a pass over the tokens. A ring of blocks holds the (log-)features of ChunkRows tokens
// each. A batch of chunks is cut from the blocks, in the order of the pass. Three stages then
// process all chunks of the batch in parallel:
//
//   - score computes the products within each chunk, and the sums over its tokens;
//   - prefix computes the sums before each chunk as prefix sums, which it multiplies by powers of
//     two if the reference changes;
//   - emit writes the outputs or gradients, and loads the next tokens into blocks that are done.
//
// The results of a token do not depend on the number of chunks of a batch.
//
// forQueries stores D_i and δ_i for forKeys in the first columns of DK and DV, which are written
// later. With logarithms it stores log D_i, and a query over D_i is its log-features less log D_i.
// If log-features are extreme, the rounding of log D_i is a factor of any size. Queries are then
// summed as in bidirectional attention, with the references of the keys and a D_i relative to
// these. forKeys then needs the references of forQueries in reverse order: see history.
type causal[T dense.Float] struct {
	HeadGradients[T] // forOutputs has q, k and v alone
	e                *Engine[T]
	dst              dense.Matrix[T] // for outputs
	purpose          purpose
	stage            stage

	// Keys and queries that count; nil if all do. Gradients of other queries are zero.
	keys, queries []bool

	ring   []*tokenBlock[T] // block g in the order of the pass is at g mod len(ring)
	chunks []*chunk[T]      // as many as blocks, or more
	batch  []*chunk[T]      // the chunks in use
	first  int              // first block of the batch
	last   int              // last block of the batch
	blocks []*tokenBlock[T] // of the ring, and of earlier, larger rings

	ref     *logscale.Reference[T] // nil for features that are not logarithms
	state   scratch.Buffer[T]      // m×(dv+1), the sums before the batch
	direct  directCausal[T]
	resumes bool              // state holds sums over tokens before the pass
	pending []logscale.Change // of the reference since the last chunk was cut
	history history
}

// windowOf returns the number of chunks of a batch: one for one processor, so that a chunk stays in
// cache.
func windowOf(rows, processors int) int {
	if processors == 1 {
		return 1
	}
	return min(chunksPerWorker*processors, maxWindow, blocksOf(rows))
}

func blocksOf(rows int) int { return (rows + ChunkRows - 1) / ChunkRows }

// ForwardCausal writes causal attention of at least one token over the keys that are valid, or over
// all keys if valid is nil, into dst, with the given number of processors.
func (e *Engine[T]) ForwardCausal(processors int, dst, q, k, v dense.Matrix[T], valid []bool) {
	e.causal(windowOf(q.Rows, processors), dst, q, k, v, valid)
}

// BackwardCausal writes the gradients g of ForwardCausal, which must not be empty, over the keys
// and queries that count; nil means all rows. Gradients of other rows have no meaning.
func (e *Engine[T]) BackwardCausal(processors int, g *HeadGradients[T], keys, queries []bool) {
	e.causalBackward(windowOf(g.Q.Rows, processors), g, keys, queries)
}

func (e *Engine[T]) causal(window int, dst, q, k, v dense.Matrix[T], valid []bool) {
	c := e.memory.causals.Get()
	c.e, c.dst, c.Q, c.K, c.V, c.keys = e, dst, q, k, v, valid
	if e.Direct != nil && e.M <= mostDirect {
		c.skip(c.directOutputs())
	}
	if c.Q.Rows > 0 {
		c.pass(forOutputs, min(window, blocksOf(c.Q.Rows)))
	}
	c.release()
}

func (e *Engine[T]) causalBackward(window int, g *HeadGradients[T], keys, queries []bool) {
	c := e.memory.causals.Get()
	c.e, c.HeadGradients, c.keys, c.queries = e, *g, keys, queries
	if !c.pass(forQueries, window) {
		c.history.kept = true
		c.pass(forQueries, window)
	}
	c.pass(forKeys, window)
	c.release()
}

func (c *causal[T]) release() {
	e := c.e
	c.e, c.HeadGradients, c.dst, c.keys, c.queries, c.history = nil, HeadGradients[T]{}, dense.Matrix[T]{}, nil, nil, history{}
	c.resumes = false
	e.memory.causals.Put(c)
}

func (c *causal[T]) back() bool { return c.purpose == forKeys }

// pass processes all tokens in batches of window chunks. It stops and returns false if forKeys
// needs a history that is not kept.
func (c *causal[T]) pass(purpose purpose, window int) bool {
	c.purpose = purpose
	c.prepare(window)
	c.do(load, window)
	for done := 0; done < c.Q.Rows; {
		done = c.cut(done)
		if len(c.batch) == 1 {
			c.step()
			if c.lacksHistory() {
				return false
			}
			continue
		}
		c.do(score, len(c.batch))
		if c.lacksHistory() {
			return false
		}
		c.do(prefix, (c.e.M+featuresPerPrefix-1)/featuresPerPrefix)
		c.do(emit, c.last-c.first+1)
		end := c.batch[len(c.batch)-1]
		c.state, end.sums = end.sums, c.state
	}
	return true
}

func (c *causal[T]) prepare(window int) {
	m, width := c.e.M, c.V.Cols+1
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
	if c.replays() {
		c.ref.Undo(c.pending)
		c.pending = c.pending[:0]
		return
	}
	c.pending = c.pending[:0]
	c.history.clear()
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

func (c *causal[T]) step() {
	ch, state := c.batch[0], c.state.Rows(c.e.M)
	rescale(state, ch.before, 0, c.e.M)
	c.score(ch)
	c.emit(ch, state)
	c.add(ch, 1, state)
	c.reload(ch)
}

type stage int

const (
	load   stage = iota // features of a block
	score               // products within a chunk
	prefix              // prefix sums of some features
	emit                // outputs or gradients of a block
)

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
