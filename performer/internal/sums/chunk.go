package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// Two products of bandRows rows compute three quarters of the square of all scores.
const bandRows = ChunkRows / 2

// chunk is a run of tokens of one block that share a reference.
type chunk[T dense.Float] struct {
	block    *tokenBlock[T]
	from, to int                    // rows of the block
	ref      *logscale.Reference[T] // nil for features that are not logarithms
	before   []logscale.Change      // of the reference since the sums before the chunk
	scratch  []T                    // m
	totals   []T                    // m, sums of the summed features times their weights

	scores  scratch.Buffer[T] // bandRows×ChunkRows
	out     scratch.Buffer[T] // ChunkRows×(dv+1) of Forward; ChunkRows×dv, gradients of values
	slopes  scratch.Buffer[T] // ChunkRows×m, gradients of the reading features
	scales  []logscale.Scale  // ChunkRows, of the reading features
	extreme bool              // a reading log-feature is extreme
	sums    scratch.Buffer[T] // m×(dv+1): what the chunk adds, then the sums after it
}

func newChunk[T dense.Float](e *Engine[T]) *chunk[T] {
	ch := &chunk[T]{scratch: make([]T, e.M), totals: make([]T, e.M), scales: make([]logscale.Scale, ChunkRows)}
	ch.scores.Shape(bandRows, ChunkRows)
	if e.Logs {
		ch.ref = logscale.NewReference[T](e.M)
	}
	for i := range ch.scales {
		ch.scales[i] = logscale.Scale{Factor: 1}
	}
	return ch
}

func (ch *chunk[T]) prepare(c *causal[T]) {
	if c.purpose == forOutputs {
		ch.out.Shape(ChunkRows, c.V.Cols+1)
		return
	}
	ch.out.Shape(ChunkRows, c.V.Cols)
	ch.slopes.Shape(ChunkRows, c.e.M)
}

func (ch *chunk[T]) reading() dense.Matrix[T] { return ch.of(&ch.block.reading) }

func (ch *chunk[T]) summed() dense.Matrix[T] { return ch.of(&ch.block.summed) }

func (ch *chunk[T]) of(b *scratch.Buffer[T]) dense.Matrix[T] {
	return b.Rows(ch.block.rows).RowRange(ch.from, ch.to)
}

func (ch *chunk[T]) rows(m dense.Matrix[T]) dense.Matrix[T] {
	return m.RowRange(ch.block.lo+ch.from, ch.block.lo+ch.to)
}

// values returns the values of the summed tokens of a chunk. For gradients it also returns the rows
// whose inner products with these values multiply features.
func (c *causal[T]) values(ch *chunk[T]) (summed, reading dense.Matrix[T]) {
	switch c.purpose {
	case forOutputs:
		return ch.of(&ch.block.values), reading
	case forQueries:
		return ch.rows(c.V), ch.rows(c.DOut)
	default:
		return ch.rows(c.DOut), ch.rows(c.V)
	}
}

// cut cuts the batch after the first done tokens of the pass, and returns the number of tokens up
// to the end of the batch. There are at most as many chunks as blocks in the ring, so all chunks
// are in loaded blocks.
func (c *causal[T]) cut(done int) int {
	c.first = c.blockAfter(done)
	c.batch = c.batch[:0]
	for len(c.batch) < len(c.ring) && done < c.Q.Rows {
		c.last = c.blockAfter(done)
		b, ch := c.ring[c.last%len(c.ring)], c.chunks[len(c.batch)]
		ch.block, ch.from, ch.to = b, done-b.lo, b.rows
		if c.back() {
			ch.from, ch.to = 0, c.Q.Rows-done-b.lo
		}
		n := 0
		if c.replays() {
			n = c.replay(ch)
		} else {
			n = c.open(ch)
		}
		if c.back() {
			ch.from = ch.to - n
		} else {
			ch.to = ch.from + n
			c.history.add(ch.before, n)
		}
		c.batch = append(c.batch, ch)
		done += n
	}
	return done
}

func (c *causal[T]) blockAfter(done int) int {
	if c.back() {
		return blocksOf(c.Q.Rows) - 1 - (c.Q.Rows-1-done)/ChunkRows
	}
	return done / ChunkRows
}

// open raises the reference to the first token of ch, which extends to the end of its block, and
// returns the number of tokens that can share this reference. The chunk ends before the first token
// beyond the limit of the reference, so neither result depends on later tokens of the pass. Then
// open raises the reference to all tokens of the chunk, for the next chunk.
func (c *causal[T]) open(ch *chunk[T]) int {
	n := ch.to - ch.from
	if c.ref == nil {
		return n
	}
	summed, start := ch.summed(), 0
	if c.back() {
		start = n - 1
	}
	ch.before = c.ref.Raise(summed.Row(start), append(ch.before[:0], c.pending...))
	ch.ref.Copy(c.ref)
	peaks := ch.block.peaks
	if n < ch.block.rows || !c.ref.AdmitsAll(peaks) {
		n = c.ref.Admits(summed, c.back())
		peaks = ch.scratch
		if c.back() {
			summed = summed.RowRange(summed.Rows-n, summed.Rows)
		}
		logscale.Peaks(peaks, summed.RowRange(0, n))
	}
	c.pending = c.ref.Raise(peaks, c.pending[:0])
	return n
}

func (c *causal[T]) score(ch *chunk[T]) {
	reading, summed := ch.reading(), ch.summed()
	switch {
	case ch.ref == nil:
	case c.replays():
		c.scaleBack(ch)
	default:
		ch.ref.ScaleKeys(summed, ch.totals)
		ch.extreme = ch.ref.ScaleQueries(reading, c.scales(ch))
	}
	values, by := c.values(ch)
	for lo := 0; lo < reading.Rows; lo += bandRows {
		hi := min(lo+bandRows, reading.Rows)
		from, to := 0, hi // tokens that one of the rows lo ≤ i < hi sees
		if c.back() {
			from, to = lo, reading.Rows
		}
		scores, summed, values := ch.scores.Rows(hi-lo).ColRange(0, to-from), summed.RowRange(from, to), values.RowRange(from, to)
		if c.purpose != forQueries {
			matmul.MulT(1, reading.RowRange(lo, hi), summed, 0, scores)
			mulTriangle(ch.out.Rows(hi).RowRange(lo, hi), scores, values, c.back())
		}
		if c.purpose == forOutputs {
			continue
		}
		matmul.MulT(1, by.RowRange(lo, hi), values, 0, scores)
		if c.back() {
			for j := range scores.Rows {
				vecmath.AddScaled(scores.Row(j), ch.block.weights[ch.from+from:ch.from+to], 1)
			}
		}
		mulTriangle(ch.slopes.Rows(hi).RowRange(lo, hi), scores, summed, c.back())
	}
}

func (c *causal[T]) scales(ch *chunk[T]) []logscale.Scale {
	if c.purpose == forOutputs && !c.e.Undivided {
		return nil
	}
	return ch.scales
}

func (c *causal[T]) add(ch *chunk[T], beta T, sums dense.Matrix[T]) {
	values, _ := c.values(ch)
	if ch.ref == nil || c.back() {
		totalsOf(ch.totals, ch.summed(), ch.block.weights[ch.from:ch.to])
	}
	addProducts(beta, sums, ch.summed(), values.ColRange(0, c.V.Cols), ch.totals)
}

func (c *causal[T]) emit(ch *chunk[T], before dense.Matrix[T]) {
	switch c.purpose {
	case forOutputs:
		out := ch.out.Rows(ch.to - ch.from)
		matmul.Mul(1, ch.reading(), before, 1, out)
		c.e.Finish(ch.rows(c.dst), out, ch.scales)
	case forQueries:
		c.emitQueries(ch, before)
	case forKeys:
		c.emitKeys(ch, before)
	}
}

func (c *causal[T]) emitQueries(ch *chunk[T], before dense.Matrix[T]) {
	queries, keys, slopes := ch.reading(), ch.summed(), c.slopes(ch, before)
	for i := range slopes.Rows {
		vecmath.AddScaled(ch.scratch, keys.Row(i), 1)
		total, mean := c.e.quotientSlope(slopes.Row(i), queries.Row(i), ch.scratch)
		c.keepDenominator(ch.block.lo+ch.from+i, total, mean, ch.scales[i])
	}
	c.e.Features.PullQueries(ch.rows(c.DQ), ch.rows(c.Q), slopes)
}

func (c *causal[T]) emitKeys(ch *chunk[T], before dense.Matrix[T]) {
	keys, slopes, dv := ch.reading(), c.slopes(ch, before), ch.rows(c.DV)
	out := ch.out.Rows(slopes.Rows)
	matmul.Mul(1, keys, before.ColRange(0, c.V.Cols), 1, out)
	for j := range slopes.Rows {
		vecmath.AddScaled(slopes.Row(j), ch.scratch, 1)
		if c.e.Logs {
			vecmath.Multiply(slopes.Row(j), keys.Row(j))
			logscale.Multiply(slopes.Row(j), ch.scales[j])
		}
		copy(dv.Row(j), out.Row(j))
		logscale.Multiply(dv.Row(j), ch.scales[j])
	}
	c.e.Features.PullKeys(ch.rows(c.DK), ch.rows(c.K), slopes)
}

// slopes adds the products with the sums before the chunk to the gradients of the features of the
// chunk, and returns the gradients. It copies the last column of the sums to ch.scratch.
func (c *causal[T]) slopes(ch *chunk[T], before dense.Matrix[T]) dense.Matrix[T] {
	slopes := ch.slopes.Rows(ch.to - ch.from)
	_, by := c.values(ch)
	matmul.MulT(1, by, before.ColRange(0, c.V.Cols), 1, slopes)
	column(ch.scratch, before)
	return slopes
}

// mulTriangle sets a triangle of s to zero and out to s·x. The triangle lies above a diagonal that
// ends in the last element of s, or, if below is true, below a diagonal that begins in the first
// element. Row i of out depends only on the rows of x that meet no zero of the triangle, except for
// the sign of a zero.
//
// If all x are finite, the zeros of s add zeros to sums. Otherwise the row that reads all x is not
// finite, and mulTriangle computes every row as a product of its own with the same order of sums.
func mulTriangle[T dense.Float](out, s, x dense.Matrix[T], below bool) {
	first, all := s.Cols-s.Rows, 0
	if below {
		all = s.Rows - 1
	}
	for i := range s.Rows {
		if below {
			clear(s.Row(i)[:i])
		} else {
			clear(s.Row(i)[first+i+1:])
		}
	}
	matmul.Mul(1, s, x, 0, out)
	if layout.Finite(out.RowRange(all, all+1)) {
		return
	}
	for i := range s.Rows {
		from, to := 0, first+i+1
		if below {
			from, to = i, s.Cols
		}
		matmul.Mul(1, s.RowRange(i, i+1).ColRange(from, to), x.RowRange(from, to), 0, out.RowRange(i, i+1))
	}
}
