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

// queryBlock is the scratch memory of one goroutine for a block of queries. Matrices of a block
// have a column for each query.
type queryBlock[T dense.Float] struct {
	encoding encoding[T]
	lo, hi   int // queries
	queries  bytedot.CodedColumns
	weights  bytedot.CodedColumns
	centres  scratch.Buffer[T]       // of the coded tiles of parts, in their order
	offsets  scratch.Buffer[T]       // tiles×queries: q·c
	next     int                     // row of offsets of the next tile
	scores   scratch.Buffer[float32] // keys×queries
	sums     scratch.Buffer[float32] // columns of values×queries
	later    later
	exact    *tiles.Tile[T] // nil unless a tile is not coded
	parts    []tiles.Part
	outputs  scratch.Buffer[T]

	// One element for each query, and padding to whole vectors.
	scales     []float32 // of codes, times the scale of scores, in octaves
	peaks      []float32 // the largest score of a tile
	highest    []float32 // of all tiles so far
	totals     []float32 // sums of the weights, apart from those of later
	olds, news []float32
	counted    []int32
}

var blocks pool.Pair[queryBlock[float32], queryBlock[float64]]

// begin encodes the queries lo ≤ i < hi, which see the given parts, before the first part.
func (b *queryBlock[T]) begin(c *codedHead[T], lo, hi int, parts []tiles.Part) {
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
	b.later.begin(len(b.totals), c.V.Cols)
}

// later holds what tiles add besides products of codes, until one product adds it for many.
type later struct {
	tiles int // at most mostLater
	// tiles×queries: logarithms, and sums of weights over 255
	peaks, counts    scratch.Buffer[float32]
	weights          scratch.Buffer[float32] // tiles×queries
	means, roundings scratch.Buffer[float32] // tiles×columns
	shifts, unused   []float32
}

const mostLater = 32

func (l *later) begin(queries, columns int) {
	l.tiles = 0
	for _, x := range []*scratch.Buffer[float32]{&l.peaks, &l.counts, &l.weights} {
		x.Shape(mostLater, queries)
	}
	l.means.Shape(mostLater, columns)
	l.roundings.Shape(mostLater, columns)
	l.shifts, l.unused = scratch.Resize(l.shifts, queries), scratch.Resize(l.unused, queries)
}

func (b *queryBlock[T]) addPart(c *codedHead[T], p tiles.Part) {
	if t := p.From / c.store.size; c.coded(t, b.lo) {
		b.add(c, t, p)
		return
	}
	if b.exact == nil {
		b.exact = tiles.NewTile(c.Scores, c.Q.RowRange(b.lo, b.hi), c.V.Cols)
	}
	b.exact.AddPart(c.K.RowRange(p.From, p.To), c.V.RowRange(p.From, p.To), &c.Mask, b.lo, p)
}

func (b *queryBlock[T]) release() {
	if b.exact != nil {
		b.exact.Release()
		b.exact = nil
	}
	pool.Put(&blocks, b)
}

func (b *queryBlock[T]) encode(c *codedHead[T], q, centres dense.Matrix[T]) {
	n := bytedot.Padded(q.Rows)
	bytedot.QuantiseColumns(&b.queries, b.encoding.rotate(c.store.rotation, q), c.store.dither)
	for _, x := range []*[]float32{&b.scales, &b.peaks, &b.highest, &b.totals, &b.olds, &b.news} {
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

func (b *queryBlock[T]) weigh(c *codedHead[T], t int, p tiles.Part) {
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

func (b *queryBlock[T]) add(c *codedHead[T], t int, p tiles.Part) {
	b.weigh(c, t, p)
	offsets := b.offsets.Rows(b.next + 1).Row(b.next)
	b.next++
	l := &b.later
	if l.tiles == mostLater {
		b.addLater(c)
	}
	at, lowest := l.tiles, float32(math.Inf(-1))
	l.tiles++
	tops, counts := l.peaks.Rows(at+1).Row(at), l.counts.Rows(at+1).Row(at)
	highest, olds, news := b.highest, b.olds, b.news
	for i, peak := range b.peaks {
		offset := float32(0)
		if i < len(offsets) {
			offset = float32(offsets[i])
		}
		if c.store.overflows(t, b.scales[i], offset) {
			b.totals[i] = float32(math.NaN()) // finish computes the output exactly
		}
		counts[i] = float32(b.counted[i])
		olds[i], news[i], tops[i] = 0, lowest, lowest
		if peak > lowest {
			old, top := highest[i], peak+offset
			if news[i] = 0; top > old {
				highest[i], olds[i] = top, (old-top)*(1/octaves)
			} else {
				news[i] = (top - old) * (1 / octaves)
			}
			tops[i] = top * (1 / octaves)
		}
	}
	vecmath.Exp(olds, olds)
	vecmath.Exp(news, news)
	vecmath.Multiply(b.totals, olds)
	bytedot.Add(b.sums.Rows(c.V.Cols), olds, news, &c.store.values[t], &b.weights)
	means, roundings := l.means.Rows(at+1).Row(at), l.roundings.Rows(at+1).Row(at)
	for j, mean := range c.store.means.Rows(t + 1).Row(t) {
		means[j], roundings[j] = float32(mean), 0
	}
	if c.whole(t) {
		for j, x := range c.store.roundings.Rows(t + 1).Row(t) {
			roundings[j] = float32(x)
		}
	}
}

// addLater adds the sums of weights, the products of weights and means, and what rounding of the
// weights left over unless the weights of a tile sum to less than leastMean a key, which is too
// little. Comparisons have no branch, because a processor would often guess wrong.
func (b *queryBlock[T]) addLater(c *codedHead[T]) {
	l, sums := &b.later, b.sums.Rows(c.V.Cols)
	n := l.tiles
	if l.tiles = 0; n == 0 {
		return
	}
	for i, peak := range b.highest {
		if l.shifts[i] = 0; peak > float32(math.Inf(-1)) {
			l.shifts[i] = peak * (1 / octaves)
		}
	}
	clear(l.unused)
	peaks, weights := l.peaks.Rows(n), l.weights.Rows(n)
	vecmath.ExpRows(peaks.Data, peaks.Stride, n, l.shifts, l.unused, b.olds)
	least := int32(leastMean * c.store.size)
	for t := range n {
		weight, exp := weights.Row(t), peaks.Row(t)
		for i, count := range l.counts.Rows(t + 1).Row(t) {
			large := uint32((least - 1 - int32(count)) >> 31) // all bits, or none
			weight[i] = math.Float32frombits(math.Float32bits(exp[i]) & large)
		}
		vecmath.Multiply(exp, l.counts.Rows(t+1).Row(t))
		vecmath.AddScaled(b.totals, exp, 1)
	}
	matmul.TMulInPlace(1, l.roundings.Rows(n), weights, 1, sums)
	matmul.TMulInPlace(1, l.means.Rows(n), peaks, 1, sums)
}

// leastMean is the least mean of the weights of a tile whose rounding is compensated. With smaller
// weights, most weights are rounded to zero whatever their thresholds are.
const leastMean = 4

func (b *queryBlock[T]) close(c *codedHead[T], t int, p tiles.Part, y dense.Matrix[float32]) {
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

func (b *queryBlock[T]) finish(c *codedHead[T]) {
	if !c.store.exact {
		b.addLater(c)
		b.share()
	}
	n := b.hi - b.lo
	b.outputs.Shape(n, c.V.Cols)
	outputs := b.outputs.Rows(n)
	for i := range n {
		if !b.output(c, outputs.Row(i), i) {
			b.exactly(c, outputs, i)
		}
	}
	if c.blocks != nil && !layout.Finite(outputs) {
		for i := range n {
			if !layout.Finite(outputs.RowRange(i, i+1)) {
				b.exactly(c, outputs, i)
			}
		}
	}
	dense.Copy(c.Dst.RowRange(b.lo, b.hi), outputs)
}

// share sets olds and news to the factors that bring the sums of codes and the sums of exact to one
// peak.
func (b *queryBlock[T]) share() {
	if b.exact == nil {
		return
	}
	for i := range b.hi - b.lo {
		_, _, exact := b.exact.Sums(i)
		peak := float64(b.highest[i]) / octaves
		most := math.Max(peak, exact)
		if most == math.Inf(-1) {
			most = 0
		}
		b.olds[i], b.news[i] = float32(peak-most), float32(exact-most)
	}
	vecmath.Exp(b.olds, b.olds)
	vecmath.Exp(b.news, b.news)
}

// output sets out to the output of query i of the block, and reports whether there is one: codes
// and weights are finite, and a weight is not zero.
func (b *queryBlock[T]) output(c *codedHead[T], out []T, i int) bool {
	if c.store.exact {
		b.exact.FinishRow(c.Scores, out, i)
		return true
	}
	total, peak, factor := T(b.totals[i]), float64(b.highest[i])/octaves, T(1)/255
	if scale := b.queries.Scales[i]; scale-scale != 0 || total-total != 0 {
		return false
	}
	if b.exact != nil {
		factor *= T(b.olds[i])
	}
	total *= factor
	sums, stride := b.sums.Data[i:], b.sums.Rows(0).Stride
	for j := range out {
		out[j] = T(sums[j*stride]) * factor
	}
	if b.exact != nil {
		more, moreTotal, morePeak := b.exact.Sums(i)
		vecmath.AddScaled(out, more, T(b.news[i]))
		total, peak = total+T(b.news[i])*moreTotal, math.Max(peak, morePeak)
	}
	if total == 0 {
		return false
	}
	tiles.Output(c.Scores, out, out, total, peak)
	return true
}

// exactly computes the output of query i of the block as package tiles does.
func (b *queryBlock[T]) exactly(c *codedHead[T], outputs dense.Matrix[T], i int) {
	at := b.lo + i
	t := tiles.NewTile(c.Scores, c.Q.RowRange(at, at+1), c.V.Cols)
	t.AddSeen(c.K, c.V, c.Mask, at)
	t.Finish(outputs.RowRange(i, i+1))
	t.Release()
}
