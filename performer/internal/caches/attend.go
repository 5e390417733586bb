package caches

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

const (
	// mostQueries is about the number of queries that read the rows of a head together.
	mostQueries = 32

	// pieceRows is the number of rows of a piece, and chunkRows the number of rows whose scores are
	// computed at a time. Both are multiples of a group of weights.
	pieceRows = 1 << 12
	chunkRows = 1 << 9

	// fewElements is the number of elements of keys and values from which on processors share the
	// pieces.
	fewElements = 1 << 16
)

// run is a run of tokens from ≤ j < to.
type run struct{ from, to int }

// call is the memory of a call of attend.
type call[T dense.Float] struct {
	dst, q  dense.Matrix[T]
	count   int   // of queries of a head of keys: query i·group + g is head g of the group in row i
	pieces  []run // of codes
	recent  [2]run
	places  []int     // of causal queries among the tokens without codes
	lifts   []float32 // of pieces of all heads: factors of sums of values
	partial []partial
	sums    []float32 // of all pieces of all heads
	tiles   []*tiles.Tile[T]
	row     []T
	out     []T
	part    []float32
}

// partial holds the sum of the weights of a query over a piece, over exp(peak).
type partial struct{ total, peak float32 }

func (s *Memory[T]) Attend(dst, q dense.Matrix[T]) { s.attend(dst, q, false) }

func (s *Memory[T]) Step(dst, q, k, v dense.Matrix[T]) {
	for q.Rows > 0 {
		// The queries of the next n tokens see the same codes.
		n := mostRecent - (s.tokens - s.coded)
		if n == 0 {
			n = together
		}
		if s.drops() {
			n = 1
		}
		n = min(n, q.Rows)
		s.Append(k.RowRange(0, n), v.RowRange(0, n))
		s.attend(dst.RowRange(0, n), q.RowRange(0, n), n > 1)
		dst, q, k, v = dst.RowRange(n, q.Rows), q.RowRange(n, q.Rows), k.RowRange(n, q.Rows), v.RowRange(n, q.Rows)
	}
}

// attend computes the outputs of queries over all tokens. If causal is true, the queries are those
// of the last tokens, and each sees the tokens up to its own.
func (s *Memory[T]) attend(dst, q dense.Matrix[T], causal bool) {
	c := &s.call
	seen := s.seen()
	c.pieces = c.pieces[:0]
	for i, r := range seen {
		for from := r.from; from < min(r.to, s.coded); from += pieceRows {
			c.pieces = append(c.pieces, run{from, min(from+pieceRows, r.to, s.coded)})
		}
		c.recent[i] = run{max(r.from-s.coded, 0), max(r.to-s.coded, 0)}
	}
	group := s.heads / s.keyHeads
	rows := max(mostQueries/group, 1)
	for lo := 0; lo < q.Rows; lo += rows {
		hi := min(lo+rows, q.Rows)
		c.count = (hi - lo) * group
		c.places = c.places[:0]
		if causal {
			for i := range c.count {
				c.places = append(c.places, s.tokens-s.coded-q.Rows+lo+i/group)
			}
		}
		s.outputs(dst.RowRange(lo, hi), q.RowRange(lo, hi))
	}
}

// seen returns the tokens that the query of the last token sees.
func (s *Memory[T]) seen() [2]run {
	low := 0
	if s.places.Window > 0 {
		low = max(s.tokens-1-s.places.Window, 0)
	}
	if s.places.Sinks >= low {
		return [2]run{{0, s.tokens}}
	}
	return [2]run{{0, s.places.Sinks}, {low, s.tokens}}
}

// outputs computes the outputs of some queries.
func (s *Memory[T]) outputs(dst, q dense.Matrix[T]) {
	c := &s.call
	c.dst, c.q = dst, q
	n := s.keyHeads * len(c.pieces) * c.count
	c.lifts = scratch.Resize(c.lifts, s.keyHeads*len(c.pieces))
	c.partial, c.sums = scratch.Resize(c.partial, n), scratch.Resize(c.sums, n*s.sumSize())
	c.tiles = scratch.Resize(c.tiles, s.keyHeads)
	elements := s.tokens * (s.keys.d + s.values.d) * c.count
	if all := s.keyHeads * (len(c.pieces) + 1); elements < fewElements/s.keyHeads {
		for i := range all {
			s.Piece(i)
		}
	} else {
		parallel.Do(all, s)
	}
	for h := range s.keyHeads {
		for i := range c.count {
			s.finish(h, i)
		}
		c.tiles[h].Release()
		c.tiles[h] = nil
	}
	c.dst, c.q = dense.Matrix[T]{}, dense.Matrix[T]{}
}

// sumSize returns the number of elements of a sum of values.
func (s *Memory[T]) sumSize() int { return scan.SumPlaces(s.values.words, s.bits) }

// vector returns row i of head h of keys in x: the columns of the head of queries i mod group in
// row i/group.
func (s *Memory[T]) vector(x dense.Matrix[T], h, i int) []T {
	group := s.heads / s.keyHeads
	return layout.Head(x, h*group+i%group, s.heads).Row(i / group)
}

// Piece sums a piece of the codes of a head of keys, or the tokens of the head without codes.
func (s *Memory[T]) Piece(i int) {
	c := &s.call
	h, piece := i/(len(c.pieces)+1), i%(len(c.pieces)+1)
	w := pool.Get[work[T]](&works)
	if piece == len(c.pieces) {
		w.recent(s, h)
	} else {
		w.codes(s, h, piece)
	}
	pool.Put(&works, w)
}

// work is the scratch memory of one goroutine.
type work[T dense.Float] struct {
	queries scratch.Buffer[T]
	whole   []int16
	digits  []uint64
	factors []float32 // of products
	scores  []float32 // queries×rows
	weights []uint64
}

var works pool.Pair[work[float32], work[float64]]

// recent sums the tokens of a head without codes.
func (w *work[T]) recent(s *Memory[T], h int) {
	c := &s.call
	w.queries.Shape(c.count, s.keys.d)
	q := w.queries.Rows(c.count)
	for i := range c.count {
		copy(q.Row(i), s.vector(c.q, h, i))
	}
	k, v := s.recent(h)
	t := tiles.NewTile(s.scores, q, s.values.d)
	if len(c.places) > 0 {
		t.AddSeen(k, v, tiles.Mask[T]{Causal: true, Places: c.places}, 0)
	} else {
		for _, r := range c.recent {
			t.Add(k.RowRange(r.from, r.to), v.RowRange(r.from, r.to))
		}
	}
	c.tiles[h] = t
}

// codes sums a piece of the codes of a head.
func (w *work[T]) codes(s *Memory[T], h, piece int) {
	c := &s.call
	w.begin(s, h)
	first := (h*len(c.pieces) + piece) * c.count
	partials := c.partial[first:][:c.count]
	from, to := h*s.room+c.pieces[piece].from, h*s.room+c.pieces[piece].to
	// Products of codes are at most bound times the factor of a query.
	bound := scan.Largest * float32(int(1)<<s.bits-1) * float32(s.keys.order) * max(0, vecmath.Peak(s.keys.scales[from:to]))
	for i, factor := range w.factors {
		partials[i] = partial{0, float32(math.Inf(-1))}
		if !(max(bound, bound*max(factor, -factor)) <= math.MaxFloat32) {
			partials[i].total = float32(math.NaN()) // scores may overflow
		}
	}
	lift := liftOf(vecmath.Peak(s.values.scales[from:to]))
	c.lifts[h*len(c.pieces)+piece] = lift
	size := s.sumSize()
	sums := c.sums[first*size:][:c.count*size]
	clear(sums)
	for lo, hi := c.pieces[piece].from, c.pieces[piece].to; lo < hi; lo += chunkRows {
		n := min(chunkRows, hi-lo)
		at := h*s.room + lo
		w.scores = scratch.Resize(w.scores, c.count*n)
		groups := scan.WeightWords(n)
		w.weights = scratch.Resize(w.weights, c.count*groups)
		scan.Products(w.scores, s.keys.codes[at*s.keys.words:], w.digits, n, s.keys.words, s.bits, c.count, n)
		for i := range partials {
			row := w.scores[i*n:][:n]
			vecmath.Multiply(row, s.keys.scales[at:][:n])
			vecmath.Scale(row, w.factors[i])
			partials[i].weigh(row, sums[i*size:][:size])
			if lift != 1 {
				vecmath.Scale(row, 1/lift)
			}
			scan.Weigh(w.weights[i*groups:], row, s.values.scales[at:][:n], s.bits)
		}
		scan.Sums(sums, s.values.codes[at*s.values.words:], w.weights, n, s.values.words, s.bits, c.count)
	}
}

// liftOf returns a power of two for values with scales up to peak. Weights over this power have
// products and sums that are normal numbers.
func liftOf(peak float32) float32 {
	switch {
	case peak > 0x1p88:
		return 0x1p40
	case peak > 0 && peak < 0x1p-100:
		return 0x1p-64
	}
	return 1
}

// begin rounds the queries of a head.
func (w *work[T]) begin(s *Memory[T], h int) {
	c := &s.call
	size := scan.DigitWords(s.keys.words, s.bits)
	w.queries.Shape(1, s.keys.order)
	rotated := w.queries.Rows(1).Row(0)
	w.whole = scratch.Resize(w.whole, s.keys.order)
	w.digits, w.factors = scratch.Resize(w.digits, c.count*size), scratch.Resize(w.factors, c.count)
	for i := range c.count {
		step := scan.Round(w.whole, s.keys.rotation.ApplyVec(rotated, s.vector(c.q, h, i)))
		scan.Digits(w.digits[i*size:], w.whole, s.keys.words, s.bits)
		w.factors[i] = float32(step * s.scores.Scale)
	}
}

// weigh replaces scores by weights over exp(peak), after it has raised the peak and rescaled the
// sums.
func (p *partial) weigh(scores, sums []float32) {
	lowest := float32(math.Inf(-1))
	if peak := vecmath.Peak(scores); peak > p.peak {
		if p.peak > lowest {
			factor := float32(math.Exp(float64(p.peak - peak)))
			vecmath.Scale(sums, factor)
			p.total *= factor
		}
		p.peak = peak
	}
	vecmath.ExpMinus(scores, scores, max(p.peak, -math.MaxFloat32))
	p.total += vecmath.Sum(scores)
}

// finish writes the output of query i of a head of keys.
func (s *Memory[T]) finish(h, i int) {
	c := &s.call
	dst, pieces := s.vector(c.dst, h, i), len(c.pieces)
	more, total, peak := c.tiles[h].Sums(i)
	if pieces == 0 {
		if !layout.Finite(dense.Of(1, len(more), more)) {
			s.exactly(dst, h, i)
			return
		}
		tiles.Output(s.scores, dst, more, total, peak)
		return
	}
	partials := c.partial[h*pieces*c.count:]
	most := peak
	for p := range pieces {
		most = max(most, float64(partials[p*c.count+i].peak))
	}
	if most == math.Inf(-1) {
		most = 0
	}
	c.row, c.part, c.out = scratch.Resize(c.row, s.values.order), scratch.Resize(c.part, s.values.order), scratch.Resize(c.out, s.values.d)
	clear(c.row)
	lifts := c.lifts[h*pieces:][:pieces]
	lift := max(1, slices.Max(lifts))
	var all T
	for p := range pieces {
		at := p*c.count + i
		factor := T(math.Exp(float64(partials[at].peak) - most))
		all += factor * T(partials[at].total)
		scan.Collect(c.part, c.sums[(h*pieces*c.count+at)*s.sumSize():], s.values.words, s.bits)
		factor *= T(lifts[p] / lift)
		for j, x := range c.part {
			c.row[j] += factor * T(x)
		}
	}
	s.values.rotation.ApplyTransposedVec(c.out, c.row)
	factor := T(math.Exp(peak - most))
	vecmath.AddScaled(c.out, more, factor/T(lift))
	if all-all != 0 || !layout.Finite(dense.Of(1, len(c.out), c.out)) {
		s.exactly(dst, h, i)
		return
	}
	tiles.Output(s.scores, dst, c.out, all+factor*total, most)
	if lift == 1 {
		return
	}
	for j, x := range dst {
		if dst[j] = x * T(lift); !s.scores.Unnormalised {
			dst[j] = finite(dst[j]) // rounding to codes may exceed the largest number
		}
	}
}

// exactly computes the output of query i of a head of keys from decoded keys and values.
func (s *Memory[T]) exactly(dst []T, h, i int) {
	q, out := dense.Of(1, s.keys.d, slices.Clone(s.vector(s.call.q, h, i))), dense.Of(1, s.values.d, dst) // dst may be the query
	if peak := s.sum(out, q, h, i, 1); peak > coded.Largest && !layout.Finite(out) {
		smaller := dense.New[T](1, s.values.d)
		s.sum(smaller, q, h, i, coded.Smaller)
		coded.Mend(s.scores, out, smaller, peak)
	}
}

// sum computes the output for values times factor, and returns the largest size of the values.
func (s *Memory[T]) sum(dst, q dense.Matrix[T], h, i int, factor T) (peak T) {
	c := &s.call
	t := tiles.NewTile(s.scores, q, s.values.d)
	b := pool.Get[rows[T]](&rowsPool)
	k, v := dense.New[T](tiles.Keys, s.keys.d), dense.New[T](tiles.Keys, s.values.d)
	for _, r := range c.pieces {
		for lo := r.from; lo < r.to; lo += tiles.Keys {
			n := min(tiles.Keys, r.to-lo)
			for j := range n {
				at := h*s.room + lo + j
				b.decode(&s.keys, k.Row(j), s.keys.codes[at*s.keys.words:][:s.keys.words], s.keys.scales[at], s.bits)
				b.decode(&s.values, v.Row(j), s.values.codes[at*s.values.words:][:s.values.words], s.values.scales[at], s.bits)
			}
			peak = max(peak, coded.PeakOf(v.RowRange(0, n)))
			vecmath.Scale(v.Data, factor)
			t.Add(k.RowRange(0, n), v.RowRange(0, n))
		}
	}
	pool.Put(&rowsPool, b)
	k, v = s.recent(h)
	v = v.Clone()
	peak = max(peak, coded.PeakOf(v))
	vecmath.Scale(v.Data, factor)
	if len(c.places) > 0 {
		t.AddSeen(k, v, tiles.Mask[T]{Causal: true, Places: c.places}, i)
	} else {
		for _, r := range c.recent {
			t.Add(k.RowRange(r.from, r.to), v.RowRange(r.from, r.to))
		}
	}
	t.Finish(dst)
	t.Release()
	return peak
}
