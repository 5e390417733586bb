package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/scratch"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// sweepChunk is a run of tokens of one slot that share a reference.
type sweepChunk[T dense.Float] struct {
	slot     *sweepSlot[T]
	from, to int           // rows of the slot
	ref      *reference[T] // nil for features that are not logarithms
	before   []change      // of the reference since the sums before the chunk were made
	scratch  []T           // m

	scores scratch.Buffer[T] // bandRows×chunkRows
	slopes scratch.Buffer[T] // chunkRows×m, with respect to the features that ask
	out    scratch.Buffer[T] // chunkRows×dv, with respect to values
	scales []scale           // chunkRows, of the features that ask
	far    bool              // log-features that ask are
	sums   scratch.Buffer[T] // m×width: what the chunk adds, then the sums after it
}

func newSweepChunk[T dense.Float](a *Attention[T]) *sweepChunk[T] {
	c := &sweepChunk[T]{scratch: make([]T, a.m), scales: make([]scale, chunkRows)}
	c.scores.Shape(bandRows, chunkRows)
	c.slopes.Shape(chunkRows, a.m)
	if a.logKey != nil {
		c.ref = newReference[T](a.m)
	}
	for i := range c.scales {
		c.scales[i] = scale{factor: 1}
	}
	return c
}

// asking and summed are the features of the chunk.

func (c *sweepChunk[T]) asking() dense.Matrix[T] { return c.of(&c.slot.asking) }
func (c *sweepChunk[T]) summed() dense.Matrix[T] { return c.of(&c.slot.summed) }

func (c *sweepChunk[T]) of(b *scratch.Buffer[T]) dense.Matrix[T] {
	return b.Rows(c.slot.rows).RowRange(c.from, c.to)
}

// rows returns the rows of the tokens of c.
func (c *sweepChunk[T]) rows(m dense.Matrix[T]) dense.Matrix[T] {
	return m.RowRange(c.slot.lo+c.from, c.slot.lo+c.to)
}

// values returns what the tokens of c that ask are multiplied by, and what those that
// are summed have for values.
func (s *sweep[T]) values(c *sweepChunk[T]) (asking, summed dense.Matrix[T]) {
	if s.back {
		return c.rows(s.v), c.rows(s.dout)
	}
	return c.rows(s.dout), c.rows(s.v)
}

// score scales the features and computes what the chunk gives itself.
func (s *sweep[T]) score(c *sweepChunk[T]) {
	asking, summed := c.asking(), c.summed()
	switch {
	case c.ref == nil:
	case s.retraces():
		s.scaleBack(c)
	default:
		c.ref.scaleKeys(summed)
		c.far = c.ref.scaleQueries(asking, c.scales)
	}
	by, values := s.values(c)
	n := asking.Rows
	slopes, out := c.slopes.Rows(n), c.out.Rows(n)
	for lo := 0; lo < n; lo += bandRows {
		hi := min(lo+bandRows, n)
		if !s.back {
			scores := c.scores.Rows(hi-lo).ColRange(0, hi)
			matmul.MulT(1, by.RowRange(lo, hi), values.RowRange(0, hi), 0, scores)
			mulLower(slopes.RowRange(lo, hi), scores, summed.RowRange(0, hi), lo)
			continue
		}
		scores := c.scores.Rows(hi-lo).ColRange(0, n-lo)
		matmul.MulT(1, asking.RowRange(lo, hi), summed.RowRange(lo, n), 0, scores)
		mulUpper(out.RowRange(lo, hi), scores, values.RowRange(lo, n))
		matmul.MulT(1, by.RowRange(lo, hi), values.RowRange(lo, n), 0, scores)
		if !s.a.opts.Unnormalised {
			for j := range scores.Rows {
				vecmath.AddScaled(scores.Row(j), c.slot.weights[c.from+lo:c.to], 1)
			}
		}
		mulUpper(slopes.RowRange(lo, hi), scores, summed.RowRange(lo, n))
	}
}

// add sets sums to beta, 0 or 1, times what they are, plus what the chunk adds.
func (s *sweep[T]) add(c *sweepChunk[T], beta T, sums dense.Matrix[T]) {
	_, values := s.values(c)
	addWeighted(beta, sums, c.summed(), values, c.slot.weights[c.from:c.to], c.scratch)
}

// emit adds what the sums before the chunk give it and writes its gradients.
func (s *sweep[T]) emit(c *sweepChunk[T], before dense.Matrix[T]) {
	n := c.to - c.from
	slopes, sums := c.slopes.Rows(n), before.ColRange(0, s.v.Cols)
	by, _ := s.values(c)
	matmul.MulT(1, by, sums, 1, slopes)
	if !s.a.opts.Unnormalised {
		column(c.scratch, before)
	}
	if s.back {
		s.emitKeys(c, slopes, sums)
	} else {
		s.emitQueries(c, slopes)
	}
}

// emitQueries writes the gradients with respect to queries, and what the way back needs.
func (s *sweep[T]) emitQueries(c *sweepChunk[T], slopes dense.Matrix[T]) {
	queries, keys := c.asking(), c.summed()
	for i := range slopes.Rows {
		if s.a.opts.Unnormalised {
			s.a.sumSlope(slopes.Row(i), queries.Row(i), c.scales[i])
			continue
		}
		vecmath.AddScaled(c.scratch, keys.Row(i), 1)
		total, mean := s.a.quotientSlope(slopes.Row(i), queries.Row(i), c.scratch)
		s.remember(c.slot.lo+c.from+i, total, mean, c.scales[i])
	}
	s.a.pullQueries(c.rows(s.dq), c.rows(s.q), slopes)
}

// emitKeys writes the gradients with respect to keys and values.
func (s *sweep[T]) emitKeys(c *sweepChunk[T], slopes, sums dense.Matrix[T]) {
	keys, out, dv := c.asking(), c.out.Rows(slopes.Rows), c.rows(s.dv)
	matmul.Mul(1, keys, sums, 1, out)
	for j := range slopes.Rows {
		if !s.a.opts.Unnormalised {
			vecmath.AddScaled(slopes.Row(j), c.scratch, 1)
		}
		s.a.sumSlope(slopes.Row(j), keys.Row(j), c.scales[j])
		copy(dv.Row(j), out.Row(j))
		multiply(dv.Row(j), c.scales[j])
	}
	s.a.pullKeys(c.rows(s.dk), c.rows(s.k), slopes)
}

// mulUpper sets out to s·x without what comes before the diagonal, which begins at
// element 0 of row 0. Elements of s before it are set to zero. Row i depends on rows
// j ≥ i of x alone, but for the sign of a zero, as with mulLower.
func mulUpper[T dense.Float](out, s, x dense.Matrix[T]) {
	for i := range s.Rows {
		clear(s.Row(i)[:i])
	}
	matmul.Mul(1, s, x, 0, out)
	if finite(out.RowRange(s.Rows-1, s.Rows)) {
		return
	}
	for i := range s.Rows {
		matmul.Mul(1, s.RowRange(i, i+1).ColRange(i, s.Cols), x.RowRange(i, x.Rows), 0, out.RowRange(i, i+1))
	}
}
