package sums

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

type tokenBlock[T dense.Float] struct {
	number, lo, rows int               // the block in the pass, first token, number of tokens
	reading, summed  scratch.Buffer[T] // ChunkRows×m, (log-)features
	values           scratch.Buffer[T] // ChunkRows×(dv+1), forOutputs: [v_j, 1]
	weights          []T               // ChunkRows, last column of sums: −δ_i in forKeys, or 1
	inverses         []T               // ChunkRows, 1/D_i when references are replayed
	peaks            []T               // of summed log-features
}

func (b *tokenBlock[T]) prepare(c *causal[T]) {
	b.reading.Shape(ChunkRows, c.e.M)
	b.summed.Shape(ChunkRows, c.e.M)
	if c.purpose == forOutputs {
		b.values.Shape(ChunkRows, c.V.Cols+1)
	}
	b.weights, b.inverses, b.peaks = scratch.Resize(b.weights, ChunkRows), scratch.Resize(b.inverses, ChunkRows), scratch.Resize(b.peaks, c.e.M)
}

func (c *causal[T]) load(g int) {
	b := c.ring[g%len(c.ring)]
	lo := g * ChunkRows
	if c.back() {
		lo = (blocksOf(c.Q.Rows) - 1 - g) * ChunkRows
	}
	hi := min(lo+ChunkRows, c.Q.Rows)
	b.number, b.lo, b.rows = g, lo, hi-lo
	reading, summed := b.reading.Rows(b.rows), b.summed.Rows(b.rows)
	q, k := c.Q.RowRange(lo, hi), c.K.RowRange(lo, hi)
	if !c.back() {
		prefetchAfter(c.Q, hi, c.Q.Rows, ChunkRows)
		prefetchAfter(c.K, hi, c.Q.Rows, ChunkRows)
		prefetchAfter(c.V, hi, c.Q.Rows, ChunkRows)
		prefetchAfter(c.dst, lo, c.dst.Rows, ChunkRows)
	}
	layout.Fill(b.weights, 1)
	if c.back() {
		c.e.Features.Keys(reading, k)
		c.e.Features.Queries(summed, q)
		c.divide(b, summed)
		c.leaveOut(b, c.queries)
	} else {
		c.e.Features.Queries(reading, q)
		c.e.Features.Keys(summed, k)
		if c.purpose == forOutputs {
			Extend(b.values.Rows(b.rows), c.V.RowRange(lo, hi))
		}
		c.leaveOut(b, c.keys)
	}
	if c.ref != nil {
		logscale.Peaks(b.peaks, summed)
	}
}

// leaveOut sets features and values of tokens that do not count to zero, or to −Inf as a logarithm,
// so that these tokens add nothing to the sums. A value of NaN would remain NaN times zero.
func (c *causal[T]) leaveOut(b *tokenBlock[T], valid []bool) {
	if valid == nil {
		return
	}
	var nothing T
	if c.ref != nil {
		nothing = T(math.Inf(-1))
	}
	for i, counts := range valid[b.lo : b.lo+b.rows] {
		if counts {
			continue
		}
		layout.Fill(b.summed.Rows(b.rows).Row(i), nothing)
		b.weights[i], b.inverses[i] = 0, 1
		if c.purpose == forOutputs {
			clear(b.values.Rows(b.rows).Row(i))
		}
	}
}

// keepDenominator stores the denominator of query i and δ_i in DK and DV for the pass forKeys.
func (c *causal[T]) keepDenominator(i int, total, mean T, relative logscale.Scale) {
	if c.ref != nil && !c.history.kept {
		total = T(math.Log(float64(total)) + math.Log(relative.Factor) + relative.Exponent*math.Ln2)
	}
	c.DK.Row(i)[0], c.DV.Row(i)[0] = total, mean
}

func (c *causal[T]) divide(b *tokenBlock[T], queries dense.Matrix[T]) {
	for i := range queries.Rows {
		row, total := queries.Row(i), c.DK.Row(b.lo + i)[0]
		b.weights[i] = -c.DV.Row(b.lo + i)[0]
		switch {
		case c.history.kept:
			b.inverses[i] = 1 / total
		case c.ref != nil:
			vecmath.Affine(row, row, 1, -total)
		default:
			vecmath.Scale(row, 1/total)
		}
	}
}

func (c *causal[T]) reload(ch *chunk[T]) {
	end := ch.to == ch.block.rows
	if c.back() {
		end = ch.from == 0
	}
	if g := ch.block.number + len(c.ring); end && g < blocksOf(c.Q.Rows) {
		c.load(g)
	}
}
