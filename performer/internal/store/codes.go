package store

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
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
	// computed at a time, for one query as for many: sums are rescaled after each.
	pieceRows = slabTokens
	chunkRows = 1 << 10

	// fewCodes is the number of elements from which on processors share the pieces.
	fewCodes = 1 << 16
)

type codes[T dense.Float] struct {
	segmented[T]
	sides    [2]side[T]
	widths   []int // of codes of keys and of their means, in package scan
	encoding encoding[T]

	// During a call. A piece is a piece of the codes, or the open tokens, of a head of keys.
	first, count int // queries of a head of keys that read codes together
	pieces       []run
	digits       [9][]uint64   // of the queries of all heads, by the width of codes
	factors      []float32     // of products of the queries
	offsets      []float32     // sums of the elements of the rounded queries
	sums         []rotatedSums // of all heads, pieces and queries
	memory       []float32     // of their values
	tiles        []*tiles.Tile[T]
	combined     combined[T]
}

// side says how keys or values have codes: of the rotated rows less the mean of their segment.
type side[T dense.Float] struct {
	rotation *hadamard.Rotation[T]
	bits     int
	order    int // of rotated rows
}

func newSide[T dense.Float](d, bits int) side[T] {
	rotation := coded.Rotation[T](d)
	_, order := rotation.Dims()
	return side[T]{rotation, bits, order}
}

type run struct{ from, to int }

func newCodes[T dense.Float](o Exact) (*Store[T], error) {
	c, keep, keyHeads := new(codes[T]), Segment, o.KeyHeads
	dims, bits := [2]int{o.D, o.DV}, [2]int{o.KeyBits, o.ValueBits}
	if err := checkOpen[T](keyHeads, dims, 2*Segment); err != nil {
		return nil, err
	}
	for i, d := range dims {
		c.sides[i] = newSide[T](d, bits[i])
	}
	c.widths = slices.Compact([]int{widthOf(o.KeyBits), 8})
	c.chooser = newChooser(o.TopK, c.sides, c.widths)
	sides, choosing := c.sides, c.chooser.given != nil
	c.slabs = newSlabs(keyHeads, Segment, o.Places, func(room int) *slab[T] {
		s := &slab[T]{room: room}
		for i, x := range sides {
			s.codes[i] = newRows(s, x.bits, x.order, 1, keyHeads*room)
			s.codes[i].keys = i == 0
			s.means[i] = newRows(s, meanBits, x.order, Segment, keyHeads*room)
		}
		if choosing {
			newCoarse(s, &sides, keyHeads*room)
		}
		return s
	})
	if o.Places.drops() {
		keep = 0
	}
	return newStore(c, o, Segment, keep), c.checkMemory(o.Places)
}

func (c *codes[T]) close(s *Store[T], in *groups[T], from, n int) {
	for at := 0; at < n; at += Segment {
		token := s.closed + at
		c.encoding = encoding[T]{&c.sides, c.open(token, Segment), token % c.size, in, from + at}
		parallel.Do(s.of.KeyHeads, &c.encoding)
		c.chooser.make(c.encoding.into, c.encoding.place, Segment, s.of.KeyHeads)
	}
	c.encoding = encoding[T]{}
}

func (c *codes[T]) together(s *Store[T]) int {
	if s.of.Places.drops() { // each query sees other first tokens
		return 1
	}
	if n := s.run + s.keep - 1 - s.open; n > 0 {
		return n
	}
	return s.run
}

func (c *codes[T]) attend(s *Store[T], dst, q dense.Matrix[T], causal bool) {
	c.begin(s, dst, q, causal)
	c.chooser.attend(c, &c.headQueries, &c.slabs)
	c.end()
}

func (c *codes[T]) whole(from, to int) {
	s := c.s
	low := s.of.Places.first(s.tokens() - 1)
	c.pieces = c.pieces[:0]
	for _, r := range [...]run{{0, min(s.of.Places.Sinks, low)}, {low, s.closed}} {
		for from, to := r.from, min(r.to, s.closed); from < to; {
			next := min((from/pieceRows+1)*pieceRows, to)
			c.pieces = append(c.pieces, run{from, next})
			from = next
		}
	}
	n := max(mostQueries/c.group, 1) * c.group
	for c.first = from * c.group; c.first < to*c.group; c.first += n {
		c.count = min(n, to*c.group-c.first)
		c.outputs()
	}
}

func (c *codes[T]) outputs() {
	s := c.s
	n := s.of.KeyHeads * len(c.pieces) * c.count
	c.sums, c.memory = scratch.Resize(c.sums, n), scratch.Resize(c.memory, n*c.sides[1].order)
	c.tiles = scratch.Resize(c.tiles, s.of.KeyHeads)
	elements := s.tokens() * (s.dims[0] + s.dims[1]) * c.count
	if len(c.pieces) > 0 {
		c.round()
	}
	share(elements < fewCodes/s.of.KeyHeads, s.of.KeyHeads*(len(c.pieces)+1), c)
	for h := range s.of.KeyHeads {
		if c.chooser.skips(h) {
			continue
		}
		for i := range c.count {
			c.finish(h, i)
		}
		c.tiles[h].Release()
		c.tiles[h] = nil
	}
}

func (c *codes[T]) Piece(i int) {
	h, piece := i/(len(c.pieces)+1), i%(len(c.pieces)+1)
	if c.chooser.skips(h) {
		return
	}
	w := pool.Get[work[T]](&works)
	if piece == len(c.pieces) {
		q := c.queries(&w.queries, h, c.first, c.first+c.count)
		k, v := c.s.recent(h)
		c.tiles[h] = tiles.NewTile(c.s.of.Scores[0], q, c.s.dims[1])
		c.add(c.tiles[h], k, v, c.s.closed, c.first)
	} else {
		w.begin(c, h)
		w.sum(c, h, piece)
		w.end()
	}
	pool.Put(&works, w)
}

// rounding is a codes that rounds the queries of a call. A piece is a head of keys.
type rounding[T dense.Float] codes[T]

func (c *codes[T]) round() {
	s := c.s
	n := s.of.KeyHeads * c.count
	c.factors, c.offsets = scratch.Resize(c.factors, n), scratch.Resize(c.offsets, n)
	sizeDigits(&c.digits, &c.sides[0], c.widths, n)
	share(n*c.sides[0].order < fewCodes/64, s.of.KeyHeads, (*rounding[T])(c))
}

func (r *rounding[T]) Piece(h int) {
	c := (*codes[T])(r)
	w := pool.Get[work[T]](&works)
	for i := range c.count {
		at := h*c.count + i
		_, step, sum := w.roundQuery(&c.sides[0], c.widths, c.vector(c.q, h, c.first+i), &c.digits, at)
		c.factors[at], c.offsets[at] = float32(step*c.s.of.Scores[0].Scale), float32(sum)
	}
	pool.Put(&works, w)
}

func sizeDigits[T dense.Float](digits *[9][]uint64, keys *side[T], widths []int, n int) {
	for _, width := range widths {
		digits[width] = scratch.Resize(digits[width], n*scan.DigitWords(scan.Words(keys.order, width), width))
	}
}

// roundQuery writes the digits of query number at. It returns the rotated query, and the step and
// the sum of its rounded elements.
func (w *work[T]) roundQuery(keys *side[T], widths []int, query []T, digits *[9][]uint64, at int) (rotated []T, step float64, sum int) {
	w.rotated, w.whole = scratch.Resize(w.rotated, keys.order), scratch.Resize(w.whole, keys.order)
	rotated = keys.rotation.ApplyVec(w.rotated, query)
	step = scan.Round(w.whole, rotated, 8)
	for _, width := range widths {
		words := scan.Words(keys.order, width)
		scan.Digits(digits[width][at*scan.DigitWords(words, width):], w.whole, words, width)
	}
	for _, y := range w.whole {
		sum += int(y)
	}
	return rotated, step, sum
}

func (c *codes[T]) finish(h, i int) {
	n := len(c.pieces) * c.count
	dst, of := c.vector(c.dst, h, c.first+i), c.sums[h*n:][:n]
	if !c.combined.output(dst, c.scores(h, c.first+i), &c.sides[1], c.tiles[h], i, of[min(i, n):], c.count) {
		c.exactly(dst, h, i)
	}
}

func (c *codes[T]) exactly(dst []T, h, i int) {
	q := dense.Of(1, c.s.dims[0], slices.Clone(c.vector(c.q, h, c.first+i))) // dst may be the query
	out := dense.Of(1, len(dst), dst)
	if peak := c.decoded(out, q, h, i, 1); peak > coded.Largest && !layout.Finite(out) {
		smaller := dense.New[T](1, len(dst))
		c.decoded(smaller, q, h, i, coded.Smaller)
		coded.Mend(out, smaller)
	}
}

func (c *codes[T]) decoded(dst, q dense.Matrix[T], h, i int, factor T) (peak T) {
	s := c.s
	t := tiles.NewTile(c.scores(h, c.first+i), q, s.dims[1])
	b := pool.Get[segmentScratch[T]](&blocks)
	k, v := dense.New[T](tiles.Keys, s.dims[0]), dense.New[T](tiles.Keys, s.dims[1])
	for _, r := range c.pieces {
		for lo := r.from; lo < r.to; lo += tiles.Keys {
			n := min(tiles.Keys, r.to-lo)
			for j := range n {
				c.decodeToken(b, [2][]T{k.Row(j), v.Row(j)}, lo+j, h)
			}
			peak = max(peak, coded.PeakOf(v.RowRange(0, n)))
			vecmath.Scale(v.Data, factor)
			c.add(t, k.RowRange(0, n), v.RowRange(0, n), lo, c.first+i)
		}
	}
	pool.Put(&blocks, b)
	k, v = s.recent(h)
	v = v.Clone()
	peak = max(peak, coded.PeakOf(v))
	vecmath.Scale(v.Data, factor)
	c.add(t, k, v, s.closed, c.first+i)
	t.Finish(dst)
	t.Release()
	return peak
}

func (c *codes[T]) decodeToken(b *segmentScratch[T], to [2][]T, token, h int) {
	s, row := c.at(token, h)
	for i := range to {
		b.decode(&c.sides[i], &s.codes[i], &s.means[i], to[i], row)
	}
}

func (c *codes[T]) merge(s *Store[T], other content[T], closed int) {
	from := &other.(*codes[T]).slabs
	for at := 0; at < closed; at += s.run {
		slab, row := from.at(at, 0)
		c.open(s.closed, s.run).copy(s.closed%c.size, slab, row, s.run, c.heads)
		c.chooser.remake(&c.slabs, s.closed, s.closed+s.run)
		s.closed += s.run
	}
}

func (c *codes[T]) clone(closed int) content[T] {
	return &codes[T]{segmented: c.segmented.clone(closed), sides: c.sides, widths: c.widths}
}

func (c *codes[T]) save(s *Store[T], to *Saved[T]) {
	if to.tail.room() == 0 {
		to.tail = newGroups[T](s.of.KeyHeads, s.run+s.keep, s.dims)
	}
	to.tail.copy(0, &s.tail, 0, s.open)
}

func (c *codes[T]) restore(s *Store[T], from *Saved[T], closed, open int) {
	c.truncate(closed)
	if from != nil {
		s.tail.copy(0, &from.tail, 0, open)
	}
}

func (c *codes[T]) parameters(s *Store[T]) []parameter {
	return s.exact(c.sides[0].bits, c.sides[1].bits)
}
