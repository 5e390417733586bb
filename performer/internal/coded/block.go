package coded

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// block is the scratch memory of one goroutine for a block of queries. Matrices have a column for
// each query.
type block[T dense.Float] struct {
	encoding encoding[T]
	lo, hi   int // queries
	queries  bytedot.Columns
	weights  bytedot.Columns
	offsets  scratch.Buffer[T]       // tiles×queries: q·c
	scores   scratch.Buffer[float32] // keys×queries
	sums     scratch.Buffer[float32] // columns of values×queries
	exact    *tiles.Tile[T]          // nil unless a tile is not coded
	parts    []tiles.Part
	row      []T

	// One element for each query, and padding to whole vectors.
	scales     []float32 // of codes, times the scale of scores, in octaves
	peaks      []float32 // the largest score of a tile
	highest    []float32 // of all tiles so far
	sizes      []float32 // sums of the weights of a tile
	totals     []float32 // sums of all weights
	olds, news []float32
	counted    []int32
}

var blocks pool.Pair[block[float32], block[float64]]

// begin encodes the queries lo ≤ i < hi.
func (b *block[T]) begin(c *call[T], lo, hi int) {
	b.lo, b.hi = lo, hi
	q := c.Q.RowRange(lo, hi)
	n := bytedot.Padded(q.Rows)
	bytedot.QuantiseColumns(&b.queries, b.encoding.rotate(c.store.rotation, q), c.store.dither)
	for _, x := range []*[]float32{&b.scales, &b.peaks, &b.highest, &b.sizes, &b.totals, &b.olds, &b.news} {
		*x = scratch.Resize(*x, n)
	}
	b.counted = scratch.Resize(b.counted, n)
	for i, scale := range b.queries.Scales {
		b.scales[i] = scale * float32(c.Scores.Scale*octaves)
	}
	layout.Fill(b.highest, float32(math.Inf(-1)))
	clear(b.totals)
	b.scores.Shape(tiles.Keys, n)
	b.sums.Shape(c.V.Cols, n)
	clear(b.sums.Data)
	count := tilesOf(c.K.Rows)
	b.offsets.Shape(count, q.Rows)
	if count > 0 {
		matmul.MulT(T(c.Scores.Scale*octaves), c.store.centresOf(count), q, 0, b.offsets.Rows(count))
	}
}

// add adds the keys of a part of tile t to the sums.
func (b *block[T]) add(c *call[T], t int, p tiles.Part) {
	keys := p.To - t*tiles.Keys
	y := b.scores.Rows(keys)
	layout.Fill(b.peaks, float32(math.Inf(-1)))
	bytedot.Scores(y, b.peaks, &c.store.keys[t], &b.queries, b.scales)
	if p.From > t*tiles.Keys || !c.Mask.Sees(b.lo, b.hi, p.From, p.To) {
		b.close(c, t, p, y)
	}
	clear(b.counted)
	bytedot.Weigh(&b.weights, keys, b.hi-b.lo, b.counted, b.scores.Rows((keys+3)&^3), b.peaks)
	offsets := b.offsets.Rows(t + 1).Row(t)
	lowest := float32(math.Inf(-1))
	for i, peak := range b.peaks[:b.hi-b.lo] {
		b.olds[i], b.news[i] = 0, lowest
		offset := float32(offsets[i])
		if c.store.overflows(t, b.scales[i], offset) {
			b.totals[i] = float32(math.NaN()) // finish computes the output exactly
		}
		if peak > lowest {
			old, peak := b.highest[i], peak+offset
			b.highest[i] = max(old, peak)
			b.olds[i], b.news[i] = (old-b.highest[i])/octaves, (peak-b.highest[i])/octaves
		}
	}
	vecmath.Exp(b.olds, b.olds)
	vecmath.Exp(b.news, b.news)
	for i, count := range b.counted {
		b.sizes[i] = float32(count) * b.news[i]
		b.totals[i] = b.totals[i]*b.olds[i] + b.sizes[i]
	}
	sums := b.sums.Rows(c.V.Cols)
	bytedot.Add(sums, b.olds, b.news, &c.store.values[t], &b.weights)
	compensates := c.whole(t) && b.compensates()
	roundings := c.store.roundings.Rows(t + 1).Row(t)
	for l, mean := range c.store.means.Rows(t + 1).Row(t) {
		vecmath.AddScaled(sums.Row(l), b.sizes, float32(mean))
		if compensates {
			vecmath.AddScaled(sums.Row(l), b.news, float32(roundings[l]))
		}
	}
}

// compensates clears news of the queries whose weights of a whole tile are too small for roundings,
// and reports whether there are others. It has no branch, because a processor would often guess
// wrong.
func (b *block[T]) compensates() bool {
	news, some := b.news[:len(b.counted)], uint32(0)
	for i, count := range b.counted {
		large := uint32((leastCount - 1 - count) >> 31) // all bits, or none
		news[i] = math.Float32frombits(math.Float32bits(news[i]) & large)
		some |= large
	}
	return some != 0
}

// leastCount is the least sum of the weights of a tile whose rounding is compensated. With smaller
// weights, most weights are rounded to zero whatever their thresholds are.
const leastCount = 4 * tiles.Keys

// close closes the pairs of a tile whose query does not see the key, and the pairs of keys before
// the part.
func (b *block[T]) close(c *call[T], t int, p tiles.Part, y dense.Matrix[float32]) {
	for j := range y.Rows {
		row, key := y.Row(j), t*tiles.Keys+j
		if key < p.From {
			bytedot.Close(row)
			continue
		}
		from, to := c.Mask.Queries(key, b.lo, b.hi)
		bytedot.Close(row[:from])
		bytedot.Close(row[max(from, to):])
	}
	layout.Fill(b.peaks, float32(math.Inf(-1)))
	bytedot.Peaks(b.peaks, y)
}

// finish writes the outputs.
func (b *block[T]) finish(c *call[T]) {
	dv := c.V.Cols
	b.row = scratch.Resize(b.row, dv)
	sums := b.sums.Rows(dv)
	q := c.Q.RowRange(b.lo, b.hi)
	for i := range q.Rows {
		total, peak := b.totals[i], float64(b.highest[i])/octaves
		if scale := b.queries.Scales[i]; scale-scale != 0 || total-total != 0 {
			b.exactly(c, i) // neither codes nor weights are finite
			continue
		}
		for j := range b.row {
			b.row[j] = T(sums.Row(j)[i])
		}
		all := T(total)
		if b.exact != nil {
			more, moreTotal, morePeak := b.exact.Sums(i)
			most := math.Max(peak, morePeak)
			if most == math.Inf(-1) {
				most = 0
			}
			coded, exact := T(math.Exp(peak-most)), 255*T(math.Exp(morePeak-most))
			vecmath.Scale(b.row, coded)
			vecmath.AddScaled(b.row, more, exact)
			all, peak = coded*all+exact*moreTotal, most
		}
		dst := c.Dst.Row(b.lo + i)
		if all == 0 {
			b.exactly(c, i) // no key is seen, or all weights are zero
			continue
		}
		vecmath.Scale(b.row, 1/T(255))
		tiles.Output(c.Scores, dst, b.row, all/255, peak)
	}
}

// exactly computes the output of query i of the block as package tiles does.
func (b *block[T]) exactly(c *call[T], i int) {
	at := b.lo + i
	t := tiles.NewTile(c.Scores, c.Q.RowRange(at, at+1), c.V.Cols)
	t.AddSeen(c.K, c.V, c.Mask, at)
	t.Finish(c.Dst.RowRange(at, at+1))
	t.Release()
}
