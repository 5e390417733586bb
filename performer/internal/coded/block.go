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
	centres  scratch.Buffer[T]       // of the coded tiles of parts, in their order
	offsets  scratch.Buffer[T]       // tiles×queries: q·c
	next     int                     // row of offsets of the next tile
	scores   scratch.Buffer[float32] // keys×queries
	sums     scratch.Buffer[float32] // columns of values×queries
	exact    *tiles.Tile[T]          // nil unless a tile is not coded
	parts    []tiles.Part
	row, out []T

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

// begin encodes the queries lo ≤ i < hi, which see the given parts, before the first part.
func (b *block[T]) begin(c *call[T], lo, hi int, parts []tiles.Part) {
	b.lo, b.hi, b.next = lo, hi, 0
	if c.store.exact {
		return
	}
	b.centres.Shape(len(parts), c.K.Cols)
	n := 0
	for _, p := range parts {
		if t := p.From / c.store.size; c.coded(t, lo) {
			copy(b.centres.Rows(n+1).Row(n), c.store.centre(t))
			n++
		}
	}
	b.encode(c, c.Q.RowRange(lo, hi), b.centres.Rows(n))
	layout.Fill(b.highest, float32(math.Inf(-1)))
	clear(b.totals)
	b.sums.Shape(c.V.Cols, len(b.totals))
	clear(b.sums.Data)
}

// addPart adds the keys of a part of a tile, or of some tiles without codes, to the sums.
func (b *block[T]) addPart(c *call[T], p tiles.Part) {
	if t := p.From / c.store.size; c.coded(t, b.lo) {
		b.add(c, t, p)
		return
	}
	if b.exact == nil {
		b.exact = tiles.NewTile(c.Scores, c.Q.RowRange(b.lo, b.hi), c.V.Cols)
	}
	b.exact.AddPart(c.K.RowRange(p.From, p.To), c.V.RowRange(p.From, p.To), &c.Mask, b.lo, p)
}

// release returns b to its pool.
func (b *block[T]) release() {
	if b.exact != nil {
		b.exact.Release()
		b.exact = nil
	}
	pool.Put(&blocks, b)
}

// encode encodes queries, and computes their scores of centres of tiles.
func (b *block[T]) encode(c *call[T], q, centres dense.Matrix[T]) {
	n := bytedot.Padded(q.Rows)
	bytedot.QuantiseColumns(&b.queries, b.encoding.rotate(c.store.rotation, q), c.store.dither)
	for _, x := range []*[]float32{&b.scales, &b.peaks, &b.highest, &b.sizes, &b.totals, &b.olds, &b.news} {
		*x = scratch.Resize(*x, n)
	}
	b.counted = scratch.Resize(b.counted, n)
	for i, scale := range b.queries.Scales {
		b.scales[i] = scale * float32(c.Scores.Scale*octaves)
	}
	b.scores.Shape(c.store.size, n)
	b.offsets.Shape(centres.Rows, q.Rows)
	if centres.Rows > 0 {
		matmul.MulT(T(c.Scores.Scale*octaves), centres, q, 0, b.offsets.Rows(centres.Rows))
	}
}

// weigh computes the weights of the keys of a part of tile t, their peaks and their sums.
func (b *block[T]) weigh(c *call[T], t int, p tiles.Part) {
	keys := p.To - t*c.store.size
	y := b.scores.Rows(keys)
	layout.Fill(b.peaks, float32(math.Inf(-1)))
	bytedot.Scores(y, b.peaks, &c.store.keys[t], &b.queries, b.scales)
	if p.From > t*c.store.size || !c.Mask.Sees(b.lo, b.hi, p.From, p.To) {
		b.close(c, t, p, y)
	}
	clear(b.counted)
	bytedot.Weigh(&b.weights, keys, b.hi-b.lo, b.counted, b.scores.Rows((keys+3)&^3), b.peaks)
}

// add adds the keys of a part of tile t to the sums.
func (b *block[T]) add(c *call[T], t int, p tiles.Part) {
	b.weigh(c, t, p)
	offsets := b.offsets.Rows(b.next + 1).Row(b.next)
	b.next++
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
	compensates := c.whole(t) && b.compensates(leastMean*c.store.size)
	roundings := c.store.roundings.Rows(t + 1).Row(t)
	for l, mean := range c.store.means.Rows(t + 1).Row(t) {
		vecmath.AddScaled(sums.Row(l), b.sizes, float32(mean))
		if compensates {
			vecmath.AddScaled(sums.Row(l), b.news, float32(roundings[l]))
		}
	}
}

// compensates clears news of the queries whose weights of a whole tile sum to less than leastCount,
// which is too little for roundings, and reports whether there are others. It has no branch,
// because a processor would often guess wrong.
func (b *block[T]) compensates(leastCount int) bool {
	news, some := b.news[:len(b.counted)], uint32(0)
	for i, count := range b.counted {
		large := uint32((int32(leastCount) - 1 - count) >> 31) // all bits, or none
		news[i] = math.Float32frombits(math.Float32bits(news[i]) & large)
		some |= large
	}
	return some != 0
}

// leastMean is the least mean of the weights of a tile whose rounding is compensated. With smaller
// weights, most weights are rounded to zero whatever their thresholds are.
const leastMean = 4

// close closes the pairs of a tile whose query does not see the key, and the pairs of keys before
// the part.
func (b *block[T]) close(c *call[T], t int, p tiles.Part, y dense.Matrix[float32]) {
	for j := range y.Rows {
		row, key := y.Row(j), t*c.store.size+j
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
	b.row, b.out = scratch.Resize(b.row, c.V.Cols), scratch.Resize(b.out, c.V.Cols)
	for i := range b.hi - b.lo {
		if !b.output(c, i) || c.blocks != nil && !layout.Finite(dense.Of(1, c.V.Cols, b.out)) {
			b.exactly(c, i)
		} else {
			copy(c.Dst.Row(b.lo+i), b.out)
		}
	}
}

// output sets out to the output of query i of the block, and reports whether there is one: codes
// and weights are finite, and a weight is not zero.
func (b *block[T]) output(c *call[T], i int) bool {
	if c.store.exact {
		b.exact.FinishRow(c.Scores, b.out, i)
		return true
	}
	total, peak := b.totals[i], float64(b.highest[i])/octaves
	if scale := b.queries.Scales[i]; scale-scale != 0 || total-total != 0 {
		return false
	}
	sums, stride := b.sums.Data[i:], b.sums.Rows(0).Stride
	for j := range b.row {
		b.row[j] = T(sums[j*stride])
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
	if all == 0 {
		return false
	}
	vecmath.Scale(b.row, 1/T(255))
	tiles.Output(c.Scores, b.out, b.row, all/255, peak)
	return true
}

// exactly computes the output of query i of the block as package tiles does.
func (b *block[T]) exactly(c *call[T], i int) {
	at := b.lo + i
	t := tiles.NewTile(c.Scores, c.Q.RowRange(at, at+1), c.V.Cols)
	t.AddSeen(c.K, c.V, c.Mask, at)
	t.Finish(c.Dst.RowRange(at, at+1))
	t.Release()
}
