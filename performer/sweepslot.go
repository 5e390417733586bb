package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/scratch"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// sweepSlot holds a block of chunkRows tokens, or what is left of them at the end.
type sweepSlot[T dense.Float] struct {
	block, lo, rows int               // the number of the block in the pass, and its tokens
	asking, summed  scratch.Buffer[T] // chunkRows×m, (log-)features
	weights         []T               // chunkRows, those of the last column of the sums: 1 ahead, −δ_i back
	peaks           []T               // of the log-features that are summed
	inverses        []T               // chunkRows, 1/D_i on the way back along a trail
}

func (s *sweepSlot[T]) prepare(m int) {
	s.asking.Shape(chunkRows, m)
	s.summed.Shape(chunkRows, m)
	s.weights, s.peaks, s.inverses = scratch.Resize(s.weights, chunkRows), scratch.Resize(s.peaks, m), scratch.Resize(s.inverses, chunkRows)
}

// load fills the slot of block g of the pass.
func (s *sweep[T]) load(g int) {
	slot := s.slots[g%len(s.slots)]
	block := g
	if s.back {
		block = blocksOf(s.q.Rows) - 1 - g
	}
	lo := block * chunkRows
	hi := min(lo+chunkRows, s.q.Rows)
	slot.block, slot.lo, slot.rows = g, lo, hi-lo
	asking, summed := slot.asking.Rows(slot.rows), slot.summed.Rows(slot.rows)
	if s.back {
		s.a.mapKeys(asking, s.k.RowRange(lo, hi))
		s.a.mapQueries(summed, s.q.RowRange(lo, hi))
		if !s.a.opts.Unnormalised {
			s.recall(slot, summed)
		}
		s.hide(slot, summed, s.queries)
	} else {
		s.a.mapQueries(asking, s.q.RowRange(lo, hi))
		s.a.mapKeys(summed, s.k.RowRange(lo, hi))
		fill(slot.weights, 1)
		s.hide(slot, summed, s.keys)
	}
	if s.ref != nil {
		peaksOf(slot.peaks, summed)
	}
}

// hide makes what is not there count for nothing where it is summed: its features become
// zero, which is −Inf as a logarithm.
func (s *sweep[T]) hide(slot *sweepSlot[T], summed dense.Matrix[T], there []bool) {
	if there == nil {
		return
	}
	var nothing T
	if s.ref != nil {
		nothing = T(math.Inf(-1))
	}
	for i, is := range there[slot.lo : slot.lo+slot.rows] {
		if !is {
			fill(summed.Row(i), nothing)
			slot.weights[i], slot.inverses[i] = 0, 1
		}
	}
}

// remember leaves the denominator of query i, of features relative to a scale, and δ_i
// for the way back.
func (s *sweep[T]) remember(i int, total, mean T, relative scale) {
	if s.ref != nil && !s.trail.kept {
		total = T(math.Log(float64(total)) + math.Log(relative.factor) + relative.exponent*math.Ln2)
	}
	s.dk.Row(i)[0], s.dv.Row(i)[0] = total, mean
}

// recall divides the features of a block of queries by their denominators.
func (s *sweep[T]) recall(slot *sweepSlot[T], queries dense.Matrix[T]) {
	for i := range queries.Rows {
		row, total := queries.Row(i), s.dk.Row(slot.lo + i)[0]
		slot.weights[i] = -s.dv.Row(slot.lo + i)[0]
		switch {
		case s.trail.kept:
			slot.inverses[i] = 1 / total
		case s.ref != nil:
			vecmath.Affine(row, 1, -total)
		default:
			vecmath.Scale(row, 1/total)
		}
	}
}

// reload fills the slot of a chunk with the block that takes its place in the ring, if
// the chunk was the last of its block.
func (s *sweep[T]) reload(c *sweepChunk[T]) {
	end := c.to == c.slot.rows
	if s.back {
		end = c.from == 0
	}
	if g := c.slot.block + len(s.slots); end && g < blocksOf(s.q.Rows) {
		s.load(g)
	}
}

// cut cuts the batch that begins when so many tokens are done, and returns how many are
// done after it. Its chunks lie in slots that are filled: as many chunks as there are
// slots cannot reach beyond them.
func (s *sweep[T]) cut(done int) int {
	s.first = s.blockAfter(done)
	s.batch = s.batch[:0]
	for len(s.batch) < len(s.slots) && done < s.q.Rows {
		s.last = s.blockAfter(done)
		slot, c := s.slots[s.last%len(s.slots)], s.parts[len(s.batch)]
		c.slot = slot
		switch {
		case s.retraces():
			c.to = s.q.Rows - done - slot.lo
			c.from = c.to - s.retrace(c)
		case s.back:
			c.to = s.q.Rows - done - slot.lo
			c.from = c.to - s.open(c, 0, c.to)
		default:
			c.from = done - slot.lo
			c.to = c.from + s.open(c, c.from, slot.rows)
			s.trail.add(c.before, c.to-c.from)
		}
		s.batch = append(s.batch, c)
		done += c.to - c.from
	}
	return done
}

// blockAfter returns the number in the pass of the block of the next token when so many
// are done.
func (s *sweep[T]) blockAfter(done int) int {
	if s.back {
		return blocksOf(s.q.Rows) - 1 - (s.q.Rows-1-done)/chunkRows
	}
	return done / chunkRows
}

// open raises the reference to the first in the pass of the rows lo ≤ i < hi that are
// left in the slot of c, and returns how many of them can share it. Neither depends on
// one that comes later in the pass. The reference that it leaves is for what comes after
// the chunk.
func (s *sweep[T]) open(c *sweepChunk[T], lo, hi int) int {
	if s.ref == nil {
		return hi - lo
	}
	summed := c.slot.summed.Rows(c.slot.rows).RowRange(lo, hi)
	n, start := summed.Rows, 0
	if s.back {
		start = n - 1
	}
	c.before = s.ref.raise(summed.Row(start), append(c.before[:0], s.pending...))
	c.ref.copyOf(s.ref)
	peaks := c.slot.peaks
	if n < c.slot.rows || !s.ref.admitsAll(peaks) {
		peaks = c.scratch
		if s.back {
			n = s.ref.admitsLast(summed)
			peaksOf(peaks, summed.RowRange(summed.Rows-n, summed.Rows))
		} else {
			n = s.ref.admits(summed)
			peaksOf(peaks, summed.RowRange(0, n))
		}
	}
	s.pending = s.ref.raise(peaks, s.pending[:0])
	return n
}

// admitsLast is admits for the last rows, judging each by those after it.
func (r *reference[T]) admitsLast(logs dense.Matrix[T]) int {
	inf := T(math.Inf(1))
	for i := logs.Rows - 2; i >= 0; i-- {
		for f, x := range logs.Row(i)[:len(r.limit)] {
			if x > r.limit[f] && x < inf {
				return logs.Rows - 1 - i
			}
		}
	}
	return logs.Rows
}
