package coded

import (
	"math"
	"slices"
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

const (
	BlockKeys    = 64 // keys of a block
	BlockQueries = 64 // queries of a block, which read the same blocks of keys
	together     = 4  // blocks of queries whose scored queries are scored together
)

// The places of the queries that choose the keys of a block of queries, counted from the first
// place of the block. With a causal mask none is behind a query of the block.
var (
	scoredCausal = [...]int{-48, -32, -16, 0}
	scoredAll    = [len(scoredCausal)]int{8, 24, 40, 56}
)

// blockChooser chooses the blocks of keys that each block of queries reads. A piece is a run of
// blocks.
type blockChooser[T dense.Float] struct {
	thresholds []float64 // descending
	eightBits  bool
	call       *codedHead[T] // during choose
	orders     [][]int32     // of each block of queries: blocks of keys that it reads, by importance
	counts     [][]int       // of each block of queries: how many it reads with each threshold
}

// AttendBlocks is Attend of some heads, which have the same keys and values and the same mask,
// causal or none, that reads some blocks of keys. With eightBits keys have codes if Takes is true,
// apart from those of the block of a causal query.
func AttendBlocks[T dense.Float](heads []tiles.Head[T], threshold float64, eightBits bool) {
	c := pool.Get[codedHead[T]](&calls)
	encoded := false
	for _, a := range heads {
		if a.Q.Rows == 0 || a.V.Cols == 0 {
			break
		}
		if encoded {
			c.Head = a
			c.blocks.choose(c)
		} else {
			c.chooseWith(a, []float64{threshold}, eightBits)
		}
		encoded = c.attend()
	}
	c.end()
}

func (c *codedHead[T]) chooseWith(a tiles.Head[T], thresholds []float64, eightBits bool) {
	c.blocks = &c.chooser
	c.blocks.thresholds, c.blocks.eightBits = thresholds, eightBits && Takes(a)
	c.begin(a)
}

// ChosenBlocks returns the blocks of keys that AttendBlocks reads, in ascending order, for each
// block of queries. The first block of queries may have fewer queries.
func ChosenBlocks[T dense.Float](a tiles.Head[T], threshold float64, eightBits bool) [][]int32 {
	var c codedHead[T]
	c.chooseWith(a, []float64{threshold}, eightBits)
	for _, order := range c.blocks.orders {
		slices.Sort(order)
	}
	return c.blocks.orders
}

// SweepBlocks returns outputs of AttendBlocks, to rounding, for ascending queries and descending
// thresholds. read[t][i] is the number of keys that the query rows[i] reads with threshold t.
func SweepBlocks[T dense.Float](a tiles.Head[T], rows []int, thresholds []float64, eightBits bool) (outs []dense.Matrix[T], read [][]int) {
	s := &sweep[T]{rows: rows}
	for range thresholds {
		s.outs, s.read = append(s.outs, dense.New[T](len(rows), a.V.Cols)), append(s.read, make([]int, len(rows)))
	}
	if len(rows) > 0 && len(thresholds) > 0 && a.K.Rows > 0 {
		s.chooseWith(a, thresholds, eightBits)
		parallel.Do(s.pieces(), s)
	}
	return s.outs, s.read
}

type sweep[T dense.Float] struct {
	codedHead[T]
	rows []int
	outs []dense.Matrix[T]
	read [][]int
}

func (s *sweep[T]) Piece(i int) {
	lo, hi := s.queries(i)
	from, to := sort.SearchInts(s.rows, lo), sort.SearchInts(s.rows, hi)
	if from == to {
		return
	}
	c := s.codedHead // of the rows of this block
	c.Q = layout.Rows(c.Q, s.rows[from:to])
	c.Mask.Places = make([]int, to-from)
	for j, row := range s.rows[from:to] {
		c.Mask.Places[j] = s.Mask.Place(row)
	}
	b := pool.Get[queryBlock[T]](&blocks)
	b.parts = b.parts[:0]
	for _, t := range s.blocks.orders[i] {
		b.parts = append(b.parts, tiles.Part{From: int(t) * BlockKeys, To: min(int(t+1)*BlockKeys, c.K.Rows)})
	}
	b.begin(&c, 0, c.Q.Rows, b.parts)
	added, keys := 0, make([]int, c.Q.Rows)
	for t, out := range s.outs {
		for ; added < s.blocks.counts[i][t]; added++ {
			p := b.parts[added]
			b.addPart(&c, p)
			for j, place := range c.Mask.Places {
				if !c.Mask.Causal {
					place = p.To
				}
				keys[j] += max(min(p.To, place+1)-p.From, 0)
			}
		}
		c.Dst = out.RowRange(from, to)
		b.finish(&c)
		copy(s.read[t][from:to], keys)
	}
	b.release()
}

// choose chooses blocks for the queries of c, from all of which c reads before it writes outputs.
func (x *blockChooser[T]) choose(c *codedHead[T]) {
	n := c.pieces()
	for len(x.orders) < n {
		x.orders, x.counts = append(x.orders, nil), append(x.counts, nil)
	}
	x.call = c
	parallel.Do((n+together-1)/together, x)
	x.call = nil
}

func (x *blockChooser[T]) Piece(i int) {
	n := x.call.pieces()
	i = (n+together-1)/together - 1 - i // the last blocks take the longest
	w := pool.Get[scoring[T]](&scorings)
	w.list, w.places = w.list[:0], w.places[:0]
	from, to := i*together, min((i+1)*together, n)
	var ends [together]int
	for at := from; at < to; at++ {
		if x.thresholds[0] > 0 {
			w.appendScored(x.call, at)
		}
		ends[at-from] = len(w.list)
	}
	if len(w.list) > 0 {
		w.score(x.call)
	}
	start := 0
	for at := from; at < to; at++ {
		end := ends[at-from]
		x.chooseFor(w, at, start, end)
		start = end
	}
	pool.Put(&scorings, w)
}

// chooseFor chooses blocks of keys for block i of queries: the first block and the block of the
// queries themselves, and those with the largest mean weights for the scored queries from ≤ j < to.
func (x *blockChooser[T]) chooseFor(w *scoring[T], i, from, to int) {
	c := x.call
	n, own, first := c.store.tilesOf(c.K.Rows), -1, -1 // blocks that are always read
	if c.Mask.Causal {
		_, end := c.queries(i)
		own, first = c.Mask.Place(end-1)/BlockKeys, 0
		n = min(n, own+1)
	}
	order, counts := x.orders[i][:0], x.counts[i][:0]
	total := 0.0
	w.keys, w.shares = w.keys[:0], scratch.Resize(w.shares, n)
	for t := range n {
		share := 0.0
		if t < w.blocks {
			for j := from; j < to; j++ {
				share += float64(w.weights.Rows(t + 1).Row(t)[j])
			}
		}
		total += share
		w.shares[t] = float32(share)
		important := share
		if t == first || t == own || c.store.spoilt[t] {
			important = 2 * float64(len(scoredAll)) // more than any sum of shares
		}
		w.keys = append(w.keys, uint64(math.Float32bits(float32(important)))<<32|uint64(t))
	}
	if from == to || !(total <= math.MaxFloat32) || !(total > 0) {
		for t := range n {
			order = append(order, int32(t))
		}
		for range x.thresholds {
			counts = append(counts, n)
		}
	} else {
		slices.Sort(w.keys)
		left := 1.0
		for t := n; len(counts) < len(x.thresholds); {
			if t == 0 {
				counts = append(counts, len(order))
				continue
			}
			key := w.keys[t-1]
			if important := math.Float32frombits(uint32(key >> 32)); important <= float32(len(scoredAll)) && left <= x.thresholds[len(counts)] && x.thresholds[len(counts)] > 0 {
				counts = append(counts, len(order))
				continue
			}
			t--
			order = append(order, int32(uint32(key)))
			left -= float64(w.shares[uint32(key)]) / total
		}
	}
	x.orders[i], x.counts[i] = order, counts
}

// appendParts appends the parts of block i of queries, in ascending order. Parts without codes may
// have several adjacent blocks of keys.
func (x *blockChooser[T]) appendParts(c *codedHead[T], parts []tiles.Part, i int) []tiles.Part {
	order := x.orders[i]
	slices.Sort(order)
	lo, hi := c.queries(i)
	end := c.K.Rows
	if c.Mask.Causal {
		end = min(end, c.Mask.Place(hi-1)+1)
	}
	for _, t := range order {
		p := tiles.Part{From: int(t) * BlockKeys, To: min(int(t+1)*BlockKeys, end)}
		if n := len(parts); n > 0 && parts[n-1].To == p.From && p.From%tiles.Keys != 0 &&
			!c.coded(p.From/BlockKeys-1, lo) && !c.coded(p.From/BlockKeys, lo) {
			parts[n-1].To = p.To
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

type scoring[T dense.Float] struct {
	// of scored queries; the first query of a block counts as one place before it
	list, places []int
	blocks       int // of keys, that a scored query sees
	q            scratch.Buffer[T]
	packed       matmul.Packed[T]
	scores       scratch.Buffer[T] // keys of a block×queries
	peaks        []T
	zeros, sums  []T
	coded        queryBlock[T]

	weights, sizes        scratch.Buffer[float32] // blocks×queries
	highest, none, totals []float32

	keys   []uint64 // of blocks: importance and number
	shares []float32
}

var scorings pool.Pair[scoring[float32], scoring[float64]]

// appendScored lists the queries that choose the keys of block i of queries. It lists none if the
// block reads all keys: it has few, or a query is not among those of the call.
func (w *scoring[T]) appendScored(c *codedHead[T], i int) {
	first := i*c.rows - c.skip
	if !c.Mask.Causal {
		for _, s := range scoredAll {
			if first+s < c.Q.Rows {
				w.list = append(w.list, first+s)
			}
		}
		return
	}
	if c.Mask.Place(0)+first < 2*BlockKeys || first+scoredCausal[0] < 0 {
		return
	}
	for _, s := range scoredCausal {
		if place := c.Mask.Place(first + s); place < c.K.Rows && (c.Mask.Valid == nil || c.Mask.Valid[place]) {
			w.list, w.places = append(w.list, first+s), append(w.places, min(place, c.Mask.Place(first-1)))
		}
	}
}

// score sets weights to the weights of the blocks of keys for the listed queries, with the sum 1
// for each query.
func (w *scoring[T]) score(c *codedHead[T]) {
	n, complete := len(w.list), c.store.tilesOf(c.K.Rows)
	if c.Mask.Causal {
		complete = w.places[n-1]/BlockKeys + 1
	}
	w.blocks = complete + 1
	w.q.Shape(n, c.Q.Cols)
	q := w.q.Rows(n)
	for j, i := range w.list {
		copy(q.Row(j), c.Q.Row(i))
	}
	matmul.PackT(&w.packed, q)
	w.scores.Shape(BlockKeys, n)
	for _, x := range []*[]T{&w.peaks, &w.zeros, &w.sums} {
		*x = scratch.Resize(*x, n)
	}
	clear(w.zeros)
	for _, x := range []*[]float32{&w.highest, &w.none, &w.totals} {
		*x = scratch.Resize(*x, n)
		clear(*x)
	}
	w.weights.Shape(w.blocks, n)
	w.sizes.Shape(w.blocks, n)
	few := *c // of the listed queries
	if c.Mask.Causal {
		few.Mask.Places = w.places
	}
	if !c.store.exact {
		w.coded.lo, w.coded.hi = 0, n
		w.coded.encode(c, q, c.store.centres.Rows(complete))
	}
	for t := range complete {
		if c.store.usual[t] {
			w.weighCodes(&few, t)
		} else {
			w.weigh(&few, t)
		}
	}
	weights := w.weights.Rows(w.blocks)
	layout.Fill(weights.Row(complete), float32(math.Inf(-1)))
	clear(w.sizes.Rows(w.blocks).Row(complete))
	for j, last := range w.places {
		if place := c.Mask.Place(w.list[j]); place > last { // more than its own key
			t := place / BlockKeys
			weights.Row(t)[j], w.sizes.Rows(t + 1).Row(t)[j] = float32(c.Scores.Scale*float64(vecmath.Dot(q.Row(j), c.K.Row(place)))), 255
		}
	}
	layout.Fill(w.highest, float32(math.Inf(-1)))
	vecmath.PeakRows(w.highest, weights.Data, weights.Stride, weights.Rows)
	vecmath.ExpRows(weights.Data, weights.Stride, weights.Rows, w.highest, w.none, w.totals)
	clear(w.totals)
	for t := range weights.Rows {
		vecmath.Multiply(weights.Row(t), w.sizes.Rows(t+1).Row(t))
		vecmath.AddScaled(w.totals, weights.Row(t), 1)
	}
	for j, total := range w.totals {
		w.totals[j] = 1 / total
	}
	for t := range weights.Rows {
		vecmath.Multiply(weights.Row(t), w.totals)
	}
}

// weighCodes sets row t of weights and sizes to the largest score and to the sum of the weights of
// block t over the weight of that score.
func (w *scoring[T]) weighCodes(c *codedHead[T], t int) {
	b := &w.coded
	b.weigh(c, t, tiles.Part{From: t * BlockKeys, To: min((t+1)*BlockKeys, c.K.Rows)})
	peaks, sizes, offsets := w.weights.Rows(t+1).Row(t), w.sizes.Rows(t+1).Row(t), b.offsets.Rows(t+1).Row(t)
	for j := range peaks {
		offset := float32(offsets[j])
		peaks[j], sizes[j] = (b.peaks[j]+offset)/octaves, float32(b.counted[j])
		if c.store.overflows(t, b.scales[j], offset) {
			sizes[j] = float32(math.NaN())
		}
	}
}

// weigh is weighCodes without codes.
func (w *scoring[T]) weigh(c *codedHead[T], t int) {
	lo, hi, n := t*BlockKeys, min((t+1)*BlockKeys, c.K.Rows), len(w.list)
	scores := w.scores.Rows(hi - lo)
	matmul.MulPacked(T(c.Scores.Scale), c.K.RowRange(lo, hi), &w.packed, 0, scores, nil)
	closed := T(math.Inf(-1))
	if !c.Mask.Sees(0, n, lo, hi) {
		for j := range scores.Rows {
			from, to := c.Mask.Queries(lo+j, 0, n)
			layout.Fill(scores.Row(j)[:from], closed)
			layout.Fill(scores.Row(j)[max(from, to):], closed)
		}
	}
	layout.Fill(w.peaks, closed)
	vecmath.PeakRows(w.peaks, scores.Data, scores.Stride, scores.Rows)
	peaks, sizes := w.weights.Rows(t+1).Row(t), w.sizes.Rows(t+1).Row(t)
	for j, peak := range w.peaks {
		if peaks[j] = float32(peak); peak == closed {
			w.peaks[j] = 0
		}
	}
	clear(w.sums)
	vecmath.ExpRows(scores.Data, scores.Stride, scores.Rows, w.peaks, w.zeros, w.sums)
	for j, sum := range w.sums {
		sizes[j] = 255 * float32(sum)
	}
}
