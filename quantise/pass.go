package quantise

import (
	"context"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// search is a pass of queries over the codes of segments.
type search[T dense.Float] struct {
	q        *quantiser[T]
	by       Measure
	ctx      context.Context // nil if nothing ends the pass
	options  SearchOptions[T]
	segments []segment
	n        int // rows of all segments
	pieces   []piece

	queries, kept []*query[T] // those of this search, and with those of others
	values        []float64   // results of Estimates; nil in a search
	bounded       bool        // rows in reach are wanted, not those with the best estimates

	desk           // of the queries, without centres
	last    aim[T] // the query and the centre that estimates were for last
	reading reading[T]
}

// segment is the rows of one of the Codes of a search, of which the first has the number base among
// the rows of all.
type segment struct {
	rows rows
	base int
}

// piece is places [lo, hi) of a block.
type piece struct {
	segment, cluster int
	b                *block
	lo, hi           int
}

const (
	pieceBytes = 1 << 18 // of codes
	chunk      = 256     // rows that a kernel takes at a time
	group      = 8       // queries that it takes at a time
)

// begin starts a search without queries and segments.
func (q *quantiser[T]) begin(by Measure) *search[T] {
	s := q.searches.Get()
	s.q, s.by, s.n = q, by, 0
	s.last.reset()
	return s
}

// add takes the rows that codes have now.
func (s *search[T]) add(c *codes[T]) {
	all := *c.rows()
	s.segments = append(s.segments, segment{all, s.n})
	s.n += all.n
}

// locate returns the segment of a row among all, and the number it has there.
func (s *search[T]) locate(row int) (segment, id int) {
	for s.segments[segment].base+s.segments[segment].rows.n <= row {
		segment++
	}
	return segment, row - s.segments[segment].base
}

// end keeps the memory of the search, but not the codes.
func (s *search[T]) end() {
	clear(s.segments)
	clear(s.pieces)
	s.segments, s.pieces, s.queries = s.segments[:0], s.pieces[:0], nil
	s.ctx, s.options, s.values, s.bounded = nil, SearchOptions[T]{}, nil, false
	s.split = false
	s.q.searches.Put(s)
}

// run goes through all rows.
func (s *search[T]) run() {
	idle := true
	for _, x := range s.queries {
		idle = idle && (x.norm != x.norm || x.k == 0 || s.bounded && math.IsInf(x.least, 1))
	}
	if idle && s.values == nil {
		return
	}
	size := max(pieceBytes/(8*s.q.words)/chunk, 1) * chunk
	s.pieces = s.pieces[:0]
	for i := range s.segments {
		all := &s.segments[i].rows
		for k, c := range all.clusters {
			n := c.before(all.n)
			if n == 0 || !slices.ContainsFunc(s.queries, func(x *query[T]) bool { return x.looksAt(k) }) {
				continue
			}
			for _, b := range c.blocks {
				end := min(b.size, n-b.first)
				for lo := 0; lo < end; lo += size {
					s.pieces = append(s.pieces, piece{i, k, b, lo, min(lo+size, end)})
				}
			}
		}
	}
	parallel.Do(len(s.pieces), s)
}

// part is the memory of a piece.
type part struct {
	products [group * chunk]float32
	scores   [chunk]float32
	factors  [chunk]float32 // of products in scores
	squares  [chunk]float32 // of norms
	split    []uint64
	lists    []list
	mask     mask
}

// list is what a piece found for a query.
type list struct {
	best, reach []candidate // as those of the query
}

// Piece goes through the rows of piece i.
func (s *search[T]) Piece(i int) {
	if s.ended() {
		return
	}
	p, at := s.q.parts.Get(), &s.pieces[i]
	for len(p.lists) < len(s.queries) {
		p.lists = append(p.lists, list{})
	}
	for k := range s.queries {
		p.lists[k].best, p.lists[k].reach = p.lists[k].best[:0], p.lists[k].reach[:0]
	}
	queries, d := s.queries, &s.desk
	if s.q.centres != nil {
		a := s.q.aims.Get()
		defer s.q.aims.Put(a)
		a.reset()
		for _, x := range s.queries {
			if x.looksAt(at.cluster) {
				s.aimAt(a, x, at.cluster)
			}
		}
		queries, d = a.queries, &a.desk
	}
	for lo := at.lo; lo < at.hi; lo += chunk {
		s.scan(p, at, lo, min(lo+chunk, at.hi), queries, d)
	}
	for k, x := range s.queries {
		x.merge(&p.lists[k])
	}
	s.q.parts.Put(p)
}

// ended reports whether the context has ended, if the search has one.
func (s *search[T]) ended() bool { return s.ctx != nil && s.ctx.Err() != nil }

// scan goes through the rows in places [lo, hi) of the block of a piece, up to the end of the context.
func (s *search[T]) scan(p *part, at *piece, lo, hi int, queries []*query[T], d *desk) {
	b := at.b
	if !s.count(&p.mask, at.segment, b, lo, hi-lo) {
		return
	}
	if q := s.q; d.split {
		p.split = scratch.Resize(p.split, (hi-lo)*scan.SplitWords(q.words, q.width))
		scan.Split(p.split, b.words[lo*q.words:hi*q.words], q.words, q.width)
	}
	c := s.stretch(p, at, lo, hi)
	for k := 0; k < len(queries) && !s.ended(); k += group {
		some := queries[k:min(k+group, len(queries))]
		s.products(p, b, lo, hi, some, d)
		for j, x := range some {
			products := p.products[j*(hi-lo):][:hi-lo]
			switch {
			case s.bounded:
				s.offerReach(p, x, &p.lists[x.index], &c, products)
				continue
			case s.values == nil:
				s.offer(p, x, &p.lists[x.index], &c, products)
				continue
			}
			for i, v := range products {
				s.values[b.id(lo+i)] = s.value(x, float64(b.norms[lo+i]), b.along(lo+i), float64(v)*b.ratio(lo+i))
			}
		}
	}
}

// products computes sᵀp of the rows in places [lo, hi), for a search in codes of 1 bit from the rounded
// queries.
func (s *search[T]) products(p *part, b *block, lo, hi int, some []*query[T], d *desk) {
	q, n := s.q, hi-lo
	rows := b.words[lo*q.words : hi*q.words]
	if q.unit > 0 || d.split {
		digits := d.digits[some[0].at:][:len(some)*q.digitWords()]
		switch {
		case d.split:
			scan.Products(p.products[:], p.split, digits, n, scan.SplitWords(q.words, q.width), 4, len(some), n)
		case q.table != nil:
			scan.LevelProducts(p.products[:], rows, q.table, digits, n, q.words, len(some), n)
		default:
			scan.Products(p.products[:], rows, digits, n, q.words, q.width, len(some), n)
		}
	}
	for j, x := range some {
		out := p.products[j*n:][:n]
		switch {
		case q.unit > 0 || d.split && q.width > 1:
			vecmath.Scale(out, x.scale)
		case q.width > 1 || s.values != nil:
			scan.Levels(out, rows, q.levels, x.arranged, q.words, q.width)
		default:
			if d.split { // whole numbers below 2²⁴: half the sum of all weights and those with signs
				vecmath.Affine(out, out, 0.5, float32(0.5*x.sum))
			} else {
				scan.Signs(out, rows, x.planes, q.words)
			}
			// The sum of the weights with the sign of their codes.
			scale := float64(q.levels[1]) * x.step
			vecmath.Affine(out, out, float32(2*scale), float32(-scale*x.sum))
		}
	}
}

// product computes sᵀp of a row for the query as it is.
func (s *search[T]) product(row []uint64, x *query[T], d *desk) float64 {
	q := s.q
	var out [1]float32
	switch {
	case q.unit == 0:
		scan.Levels(out[:], row, q.levels, x.arranged, q.words, q.width)
		return float64(out[0])
	case q.table != nil:
		scan.LevelProducts(out[:], row, q.table, d.digits[x.at:][:q.digitWords()], 1, q.words, 1, 1)
	default:
		scan.Products(out[:], row, d.digits[x.at:][:q.digitWords()], 1, q.words, q.width, 1, 1)
	}
	return float64(out[0] * x.scale)
}
