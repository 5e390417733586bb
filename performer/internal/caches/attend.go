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
	// computed at a time, for one query as for many: sums are rescaled after each. Both are multiples
	// of a group of weights.
	pieceRows = 1 << 12
	chunkRows = 1 << 10

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
	places  []int       // of queries among the tokens without codes
	seen    [2][]int    // of queries among the tokens of recent
	causal  bool        // queries see the tokens up to their places
	digits  [9][]uint64 // of the queries of all heads, by the width of codes
	factors []float32   // of products of the queries
	offsets []float32   // sums of the elements of the rounded queries
	lifts   []float32   // of pieces of all heads: factors of sums of values
	partial []partial
	sums    []float32 // of all pieces of all heads
	tiles   []*tiles.Tile[T]
	row     []T
	out     []T
}

// partial holds the sum of the weights of a query over a piece, over exp(peak).
type partial struct{ total, peak float32 }

func (s *Memory[T]) Attend(dst, q dense.Matrix[T]) { s.attend(dst, q, false) }

func (s *Memory[T]) Step(dst, q, k, v dense.Matrix[T]) {
	for q.Rows > 0 {
		// The queries of the next n tokens see the same codes.
		n := s.mostRecent() - (s.tokens - s.coded)
		if n == 0 {
			n = s.together
		}
		if s.places.Window != 0 || s.places.Chunk != 0 { // each query sees other first tokens
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
		for from, to := r.from, min(r.to, s.coded); from < to; {
			next := min(from/s.together*s.together+pieceRows, to)
			c.pieces = append(c.pieces, run{from, next})
			from = next
		}
		c.recent[i] = run{max(r.from-s.coded, 0), max(r.to-s.coded, 0)}
	}
	group := s.heads / s.keyHeads
	rows := max(mostQueries/group, 1)
	c.causal = causal
	for lo := 0; lo < q.Rows; lo += rows {
		hi := min(lo+rows, q.Rows)
		c.count = (hi - lo) * group
		c.places = c.places[:0]
		for i := range c.count {
			place := s.tokens - s.coded - 1
			if causal {
				place += 1 - q.Rows + lo + i/group
			}
			c.places = append(c.places, place)
		}
		for i, r := range c.recent {
			c.seen[i] = s.placesFrom(c.seen[i][:0], s.coded+r.from)
		}
		s.outputs(dst.RowRange(lo, hi), q.RowRange(lo, hi))
	}
}

// seen returns the tokens that the query of the last token sees.
func (s *Memory[T]) seen() [2]run {
	low := max(s.places.First(s.dropped+s.tokens-1)-s.dropped, 0)
	if s.places.Sinks >= low && s.dropped == 0 {
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
	c.partial, c.sums = scratch.Resize(c.partial, n), scratch.Resize(c.sums, n*s.values.order)
	c.tiles = scratch.Resize(c.tiles, s.keyHeads)
	elements := s.tokens * (s.keys.d + s.values.d) * c.count
	if len(c.pieces) > 0 {
		s.round()
	}
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
		w.begin(s, h)
		w.codes(s, h, piece)
		w.end()
	}
	pool.Put(&works, w)
}

// recent sums the tokens of a head without codes.
func (w *work[T]) recent(s *Memory[T], h int) {
	c := &s.call
	w.queries.Shape(c.count, s.keys.d)
	q := w.queries.Rows(c.count)
	for i := range c.count {
		copy(q.Row(i), s.vector(c.q, h, i))
	}
	t := tiles.NewTile(s.scores.Scores, q, s.values.d)
	k, v := s.recent(h)
	s.addRecent(t, k, v, 0)
	c.tiles[h] = t
}

// addRecent adds tokens without codes to the sums of queries from query first on.
func (s *Memory[T]) addRecent(t *tiles.Tile[T], k, v dense.Matrix[T], first int) {
	c := &s.call
	if c.causal {
		t.AddSeen(k, v, tiles.Mask[T]{Causal: true, Places: c.places, Slope: s.places.Slope}, first)
		return
	}
	for i, r := range c.recent {
		s.add(t, k.RowRange(r.from, r.to), v.RowRange(r.from, r.to), c.seen[i], first)
	}
}

// add adds tokens that all queries see, among which the queries have the places.
func (s *Memory[T]) add(t *tiles.Tile[T], k, v dense.Matrix[T], places []int, first int) {
	if s.places.Slope == 0 {
		t.Add(k, v)
	} else {
		t.AddSeen(k, v, tiles.Mask[T]{Places: places, Slope: s.places.Slope}, first)
	}
}

// placesFrom appends the places of the queries relative to token i.
func (s *Memory[T]) placesFrom(places []int, i int) []int {
	for _, place := range s.call.places {
		places = append(places, place+s.coded-s.place(i))
	}
	return places
}

// place returns the place of token i among the kept tokens, as if the tokens between the sinks and
// the others had not been dropped.
func (s *Memory[T]) place(i int) int {
	if i < s.sinks() {
		return i - s.dropped
	}
	return i
}

// rounding is a Memory that rounds the queries of a call. A piece is a head of keys.
type rounding[T dense.Float] Memory[T]

// round rounds the queries of all heads.
func (s *Memory[T]) round() {
	c := &s.call
	n := s.keyHeads * c.count
	c.factors, c.offsets = scratch.Resize(c.factors, n), scratch.Resize(c.offsets, n)
	all, widths := s.keyRows()
	for _, r := range all[:widths] {
		c.digits[r.width] = scratch.Resize(c.digits[r.width], n*scan.DigitWords(r.wide, r.width))
	}
	if n*s.keys.order < fewElements/64 {
		for h := range s.keyHeads {
			(*rounding[T])(s).Piece(h)
		}
	} else {
		parallel.Do(s.keyHeads, (*rounding[T])(s))
	}
}

// keyRows returns the keys and their means, and how many of both have codes of a width of their own.
func (s *Memory[T]) keyRows() (all [2]*rows, n int) {
	all, n = [...]*rows{&s.keys.codes, &s.keys.means}, 2
	if all[0].width == all[1].width {
		n = 1
	}
	return all, n
}

func (r *rounding[T]) Piece(h int) {
	s := (*Memory[T])(r)
	c, w := &s.call, pool.Get[work[T]](&works)
	all, widths := s.keyRows()
	w.queries.Shape(1, s.keys.order)
	rotated := w.queries.Rows(1).Row(0)
	w.whole = scratch.Resize(w.whole, s.keys.order)
	for i := range c.count {
		step := scan.Round(w.whole, s.keys.rotation.ApplyVec(rotated, s.vector(c.q, h, i)))
		at, sum := h*c.count+i, 0
		for _, r := range all[:widths] {
			scan.Digits(c.digits[r.width][at*scan.DigitWords(r.wide, r.width):], w.whole, r.wide, r.width)
		}
		for _, x := range w.whole {
			sum += int(x)
		}
		c.factors[at], c.offsets[at] = float32(step*s.scores.Scale), float32(sum)
	}
	pool.Put(&works, w)
}

// finish writes the output of query i of a head of keys.
func (s *Memory[T]) finish(h, i int) {
	c := &s.call
	dst, pieces, scores := s.vector(c.dst, h, i), len(c.pieces), s.scoresOf(h, i)
	more, total, peak := c.tiles[h].Sums(i)
	if pieces == 0 {
		if !layout.Finite(dense.Of(1, len(more), more)) {
			s.exactly(dst, h, i)
			return
		}
		tiles.Output(scores, dst, more, total, peak)
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
	c.row, c.out = scratch.Resize(c.row, s.values.order), scratch.Resize(c.out, s.values.d)
	clear(c.row)
	lifts := c.lifts[h*pieces:][:pieces]
	lift := max(1, slices.Max(lifts))
	var all T
	for p := range pieces {
		at := p*c.count + i
		factor := T(math.Exp(float64(partials[at].peak) - most))
		all += factor * T(partials[at].total)
		factor *= T(lifts[p] / lift)
		for j, x := range c.sums[(h*pieces*c.count+at)*s.values.order:][:s.values.order] {
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
	tiles.Output(scores, dst, c.out, all+factor*total, most)
	if lift == 1 {
		return
	}
	for j, x := range dst {
		if dst[j] = x * T(lift); !s.scores.Unnormalised {
			dst[j] = coded.Finite(dst[j]) // rounding to codes may exceed the largest number
		}
	}
}

// scoresOf returns the scores of query i of a head of keys.
func (s *Memory[T]) scoresOf(h, i int) tiles.Scores {
	group := s.heads / s.keyHeads
	return s.scores.Of(h*group + i%group)
}

// exactly computes the output of query i of a head of keys from decoded keys and values.
func (s *Memory[T]) exactly(dst []T, h, i int) {
	q, out := dense.Of(1, s.keys.d, slices.Clone(s.vector(s.call.q, h, i))), dense.Of(1, s.values.d, dst) // dst may be the query
	if peak := s.sum(out, q, h, i, 1); peak > coded.Largest && !layout.Finite(out) {
		smaller := dense.New[T](1, s.values.d)
		s.sum(smaller, q, h, i, coded.Smaller)
		coded.Mend(s.scores.Scores, out, smaller)
	}
}

// sum computes the output for values times factor, and returns the largest size of the values.
func (s *Memory[T]) sum(dst, q dense.Matrix[T], h, i int, factor T) (peak T) {
	c := &s.call
	t := tiles.NewTile(s.scoresOf(h, i), q, s.values.d)
	b := pool.Get[block[T]](&blocks)
	k, v := dense.New[T](tiles.Keys, s.keys.d), dense.New[T](tiles.Keys, s.values.d)
	for _, r := range c.pieces {
		for lo := r.from; lo < r.to; lo += tiles.Keys {
			n := min(tiles.Keys, r.to-lo)
			for j := range n {
				b.decode(&s.keys, k.Row(j), h*s.room+lo+j)
				b.decode(&s.values, v.Row(j), h*s.room+lo+j)
			}
			peak = max(peak, coded.PeakOf(v.RowRange(0, n)))
			vecmath.Scale(v.Data, factor)
			s.add(t, k.RowRange(0, n), v.RowRange(0, n), s.placesFrom(nil, lo), i)
		}
	}
	pool.Put(&blocks, b)
	k, v = s.recent(h)
	v = v.Clone()
	peak = max(peak, coded.PeakOf(v))
	vecmath.Scale(v.Data, factor)
	s.addRecent(t, k, v, i)
	t.Finish(dst)
	t.Release()
	return peak
}
