package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// tokenBlock holds a block of chunkRows tokens, or what is left of them at the end.
type tokenBlock[T dense.Float] struct {
	number, lo, rows int               // the number of the block in the pass, and its tokens
	asking, summed   scratch.Buffer[T] // chunkRows×m, (log-)features
	values           scratch.Buffer[T] // chunkRows×width, forOutputs: [v_j, 1]
	weights          []T               // chunkRows, what the last column of the sums adds up: −δ_i of forKeys, otherwise 1
	inverses         []T               // chunkRows, 1/D_i on the way back along a trail
	peaks            []T               // of the log-features that are summed
}

func (b *tokenBlock[T]) prepare(c *causal[T]) {
	b.asking.Shape(chunkRows, c.a.m)
	b.summed.Shape(chunkRows, c.a.m)
	if c.purpose == forOutputs {
		b.values.Shape(chunkRows, c.a.width(c.v.Cols))
	}
	b.weights, b.inverses, b.peaks = scratch.Resize(b.weights, chunkRows), scratch.Resize(b.inverses, chunkRows), scratch.Resize(b.peaks, c.a.m)
}

// load fills the place of block g of the pass.
func (c *causal[T]) load(g int) {
	b := c.ring[g%len(c.ring)]
	lo := g * chunkRows
	if c.back() {
		lo = (blocksOf(c.q.Rows) - 1 - g) * chunkRows
	}
	hi := min(lo+chunkRows, c.q.Rows)
	b.number, b.lo, b.rows = g, lo, hi-lo
	asking, summed := b.asking.Rows(b.rows), b.summed.Rows(b.rows)
	q, k := c.q.RowRange(lo, hi), c.k.RowRange(lo, hi)
	if !c.back() {
		prefetchAfter(c.q, hi, c.q.Rows, chunkRows)
		prefetchAfter(c.k, hi, c.q.Rows, chunkRows)
		prefetchAfter(c.v, hi, c.q.Rows, chunkRows)
		prefetchAfter(c.dst, lo, c.dst.Rows, chunkRows)
	}
	fill(b.weights, 1)
	if c.back() {
		c.a.mapKeys(asking, k)
		c.a.mapQueries(summed, q)
		if !c.a.opts.Unnormalised {
			c.recall(b, summed)
		}
		c.leaveOut(b, c.queries)
	} else {
		c.a.mapQueries(asking, q)
		c.a.mapKeys(summed, k)
		if c.purpose == forOutputs {
			extend(b.values.Rows(b.rows), c.v.RowRange(lo, hi))
		}
		c.leaveOut(b, c.keys)
	}
	if c.ref != nil {
		peaksOf(b.peaks, summed)
	}
}

// leaveOut makes tokens that do not count add nothing to the sums: their features become zero,
// which is −Inf as a logarithm, and so do their values, as zero times NaN is NaN.
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
		fill(b.summed.Rows(b.rows).Row(i), nothing)
		b.weights[i], b.inverses[i] = 0, 1
		if c.purpose == forOutputs {
			clear(b.values.Rows(b.rows).Row(i))
		}
	}
}

// remember leaves the denominator of query i, of features relative to a scale, and δ_i
// for the way back.
func (c *causal[T]) remember(i int, total, mean T, relative scale) {
	if c.ref != nil && !c.trail.kept {
		total = T(math.Log(float64(total)) + math.Log(relative.factor) + relative.exponent*math.Ln2)
	}
	c.dk.Row(i)[0], c.dv.Row(i)[0] = total, mean
}

// recall divides the features of a block of queries by their denominators.
func (c *causal[T]) recall(b *tokenBlock[T], queries dense.Matrix[T]) {
	for i := range queries.Rows {
		row, total := queries.Row(i), c.dk.Row(b.lo + i)[0]
		b.weights[i] = -c.dv.Row(b.lo + i)[0]
		switch {
		case c.trail.kept:
			b.inverses[i] = 1 / total
		case c.ref != nil:
			vecmath.Affine(row, row, 1, -total)
		default:
			vecmath.Scale(row, 1/total)
		}
	}
}

// reload fills the block of a chunk with the tokens that take its place in the ring, if the chunk
// was the last of its block.
func (c *causal[T]) reload(ch *chunk[T]) {
	end := ch.to == ch.block.rows
	if c.back() {
		end = ch.from == 0
	}
	if g := ch.block.number + len(c.ring); end && g < blocksOf(c.q.Rows) {
		c.load(g)
	}
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
