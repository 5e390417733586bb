package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// bandRows is the number of rows of a chunk whose scores are one product with all tokens that
// any of them sees: of the square of all scores, three quarters.
const bandRows = ChunkRows / 2

// chunk is a run of tokens of one block that share a reference.
type chunk[T dense.Float] struct {
	block    *tokenBlock[T]
	from, to int                    // rows of the block
	ref      *logscale.Reference[T] // nil for features that are not logarithms
	before   []logscale.Change      // of the reference since the sums before the chunk were made
	scratch  []T                    // m
	totals   []T                    // m, the sums of the features that are summed, times their weights

	scores scratch.Buffer[T] // bandRows×ChunkRows
	out    scratch.Buffer[T] // ChunkRows×width, numerators and denominators; ChunkRows×dv, gradients of values
	slopes scratch.Buffer[T] // ChunkRows×m, gradients of the features that ask
	scales []logscale.Scale  // ChunkRows, of the features that ask
	far    bool              // log-features that ask are
	sums   scratch.Buffer[T] // m×width: what the chunk adds, then the sums after it
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
		ch.out.Shape(ChunkRows, c.e.Width(c.V.Cols))
		return
	}
	ch.out.Shape(ChunkRows, c.V.Cols)
	ch.slopes.Shape(ChunkRows, c.e.M)
}

// asking and summed are the features of the chunk.

func (ch *chunk[T]) asking() dense.Matrix[T] { return ch.of(&ch.block.asking) }
func (ch *chunk[T]) summed() dense.Matrix[T] { return ch.of(&ch.block.summed) }

func (ch *chunk[T]) of(b *scratch.Buffer[T]) dense.Matrix[T] {
	return b.Rows(ch.block.rows).RowRange(ch.from, ch.to)
}

// rows returns the rows of the tokens of the chunk.
func (ch *chunk[T]) rows(m dense.Matrix[T]) dense.Matrix[T] {
	return m.RowRange(ch.block.lo+ch.from, ch.block.lo+ch.to)
}

// values returns the values of the tokens of a chunk that are summed, and what gradients of
// features that ask are inner products of values with.
func (c *causal[T]) values(ch *chunk[T]) (summed, asking dense.Matrix[T]) {
	switch c.purpose {
	case forOutputs:
		return ch.of(&ch.block.values), asking
	case forQueries:
		return ch.rows(c.V), ch.rows(c.DOut)
	default:
		return ch.rows(c.DOut), ch.rows(c.V)
	}
}

// cut cuts the batch that begins after so many tokens of the pass, and returns the number of tokens
// after the batch. The chunks lie in blocks that are loaded: as many chunks as there are blocks
// cannot reach beyond them.
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
		if c.retraces() {
			n = c.retrace(ch)
		} else {
			n = c.open(ch)
		}
		if c.back() {
			ch.from = ch.to - n
		} else {
			ch.to = ch.from + n
			c.trail.add(ch.before, n)
		}
		c.batch = append(c.batch, ch)
		done += n
	}
	return done
}

// blockAfter returns the number in the pass of the block of the token after so many.
func (c *causal[T]) blockAfter(done int) int {
	if c.back() {
		return blocksOf(c.Q.Rows) - 1 - (c.Q.Rows-1-done)/ChunkRows
	}
	return done / ChunkRows
}

// open raises the reference to the first token in the pass of ch, which has all that is left of its
// block, and returns the number of tokens that can share it. Neither depends on a token that comes
// later in the pass: the chunk ends before the first that would not fit. The reference that open
// leaves is for the tokens after the chunk.
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

// score scales the features and computes what the chunk gives itself.
func (c *causal[T]) score(ch *chunk[T]) {
	asking, summed := ch.asking(), ch.summed()
	switch {
	case ch.ref == nil:
	case c.retraces():
		c.scaleBack(ch)
	default:
		ch.ref.ScaleKeys(summed, ch.totals)
		ch.far = ch.ref.ScaleQueries(asking, c.scales(ch))
	}
	values, by := c.values(ch)
	for lo := 0; lo < asking.Rows; lo += bandRows {
		hi := min(lo+bandRows, asking.Rows)
		from, to := 0, hi // tokens that rows lo ≤ i < hi see
		if c.back() {
			from, to = lo, asking.Rows
		}
		scores, summed, values := ch.scores.Rows(hi-lo).ColRange(0, to-from), summed.RowRange(from, to), values.RowRange(from, to)
		if c.purpose != forQueries {
			matmul.MulT(1, asking.RowRange(lo, hi), summed, 0, scores)
			mulTriangle(ch.out.Rows(hi).RowRange(lo, hi), scores, values, c.back())
		}
		if c.purpose == forOutputs {
			continue
		}
		matmul.MulT(1, by.RowRange(lo, hi), values, 0, scores)
		if c.back() && !c.e.Unnormalised {
			for j := range scores.Rows {
				vecmath.AddScaled(scores.Row(j), ch.block.weights[ch.from+from:ch.from+to], 1)
			}
		}
		mulTriangle(ch.slopes.Rows(hi).RowRange(lo, hi), scores, summed, c.back())
	}
}

// scales returns the memory for the scales of the features that ask, nil if nobody needs them.
func (c *causal[T]) scales(ch *chunk[T]) []logscale.Scale {
	if c.purpose == forOutputs && !c.e.Unnormalised && !c.e.Undivided {
		return nil
	}
	return ch.scales
}

// add sets sums to beta, 0 or 1, times what they are, plus what the chunk adds.
func (c *causal[T]) add(ch *chunk[T], beta T, sums dense.Matrix[T]) {
	values, _ := c.values(ch)
	if !c.e.Unnormalised && (ch.ref == nil || c.retraces() || c.back()) {
		totalsOf(ch.totals, ch.summed(), ch.block.weights[ch.from:ch.to])
	}
	addProducts(beta, sums, ch.summed(), values.ColRange(0, c.V.Cols), ch.totals)
}

// emit adds what the sums before the chunk give its tokens, and writes their outputs or gradients.
func (c *causal[T]) emit(ch *chunk[T], before dense.Matrix[T]) {
	switch c.purpose {
	case forOutputs:
		out := ch.out.Rows(ch.to - ch.from)
		matmul.Mul(1, ch.asking(), before, 1, out)
		c.e.Finish(ch.rows(c.dst), out, ch.scales)
	case forQueries:
		c.emitQueries(ch, before)
	case forKeys:
		c.emitKeys(ch, before)
	}
}

// emitQueries writes the gradients with respect to queries, and what the way back needs.
func (c *causal[T]) emitQueries(ch *chunk[T], before dense.Matrix[T]) {
	queries, keys, slopes := ch.asking(), ch.summed(), c.slopes(ch, before)
	for i := range slopes.Rows {
		if c.e.Unnormalised {
			c.e.sumSlope(slopes.Row(i), queries.Row(i), ch.scales[i])
			continue
		}
		vecmath.AddScaled(ch.scratch, keys.Row(i), 1)
		total, mean := c.e.quotientSlope(slopes.Row(i), queries.Row(i), ch.scratch)
		c.remember(ch.block.lo+ch.from+i, total, mean, ch.scales[i])
	}
	c.e.Features.PullQueries(ch.rows(c.DQ), ch.rows(c.Q), slopes)
}

// emitKeys writes the gradients with respect to keys and values.
func (c *causal[T]) emitKeys(ch *chunk[T], before dense.Matrix[T]) {
	keys, slopes, dv := ch.asking(), c.slopes(ch, before), ch.rows(c.DV)
	out := ch.out.Rows(slopes.Rows)
	matmul.Mul(1, keys, before.ColRange(0, c.V.Cols), 1, out)
	for j := range slopes.Rows {
		if !c.e.Unnormalised {
			vecmath.AddScaled(slopes.Row(j), ch.scratch, 1)
		}
		c.e.sumSlope(slopes.Row(j), keys.Row(j), ch.scales[j])
		copy(dv.Row(j), out.Row(j))
		logscale.Multiply(dv.Row(j), ch.scales[j])
	}
	c.e.Features.PullKeys(ch.rows(c.DK), ch.rows(c.K), slopes)
}

// slopes adds what the sums before the chunk give the gradients of its features, which it returns,
// and leaves the last column of the sums in the scratch memory of the chunk.
func (c *causal[T]) slopes(ch *chunk[T], before dense.Matrix[T]) dense.Matrix[T] {
	slopes := ch.slopes.Rows(ch.to - ch.from)
	_, by := c.values(ch)
	matmul.MulT(1, by, before.ColRange(0, c.V.Cols), 1, slopes)
	if !c.e.Unnormalised {
		column(ch.scratch, before)
	}
	return slopes
}

// mulTriangle sets out to s·x with zeros in place of a triangle of s, which it clears. The diagonal
// ends in the last element of s if the triangle lies above it, and begins in the first if the
// triangle lies below it. Row i depends on what it sees of x alone, but for the sign of a zero.
//
// When all x are finite, the zeros of s add zeros to the sums of a product. If not, the row that
// sees all x shows it, and every row becomes a product of its own, whose sums are the same.
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
