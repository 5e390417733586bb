package quantise

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// search is one search: its queries, its options, and the codes of its segments. A search scans all
// codes once, or twice with SearchOptions.Rows.
type search[T dense.Float] struct {
	q        *quantiser[T]
	by       Measure
	ctx      context.Context // nil if the search has none
	options  SearchOptions[T]
	segments []rows // the rows of the Codes
	bases    []int  // the number of rows of the segments before each
	n        int    // the number of rows of all segments
	ranges   []blockRange

	queryBatch[T]               // rounded to integers only without centres
	last          queryBatch[T] // the shifted query of the latest estimate
	values        []float64     // the result of Estimates; nil in a search
	secondPass    bool          // run finds rows whose upper bounds exceed the worst exact value

	rowData []T   // the result of SearchOptions.Rows
	rowIDs  []int // the numbers of these rows
}

// blockRange is the rows in places [lo, hi) of a block. A goroutine scans one blockRange at a time.
type blockRange struct {
	segment, cluster int
	b                *block
	lo, hi           int
}

const (
	rangeBytes = 1 << 18 // bytes of the codes of a blockRange
	chunkRows  = 256     // rows of one call of a kernel
	group      = 8       // queries of one call of a kernel
)

// begin returns a search without queries and segments.
func (q *quantiser[T]) begin(by Measure) *search[T] {
	s := q.searches.Get()
	s.q, s.by, s.n = q, by, 0
	s.last.reset()
	return s
}

// addSegment adds the published rows of c as a segment.
func (s *search[T]) addSegment(c *codes[T]) {
	all := *c.rows()
	s.segments, s.bases = append(s.segments, all), append(s.bases, s.n)
	s.n += all.n
}

// locate returns the segment of a row, and the number of the row in the segment.
func (s *search[T]) locate(row int) (segment, id int) {
	for s.bases[segment]+s.segments[segment].n <= row {
		segment++
	}
	return segment, row - s.bases[segment]
}

// end returns the memory of the search to the pool, without references to codes and options.
func (s *search[T]) end() {
	clear(s.segments)
	clear(s.ranges)
	s.segments, s.bases, s.ranges = s.segments[:0], s.bases[:0], s.ranges[:0]
	s.ctx, s.options, s.values, s.secondPass = nil, SearchOptions[T]{}, nil, false
	s.reset()
	s.q.searches.Put(s)
}

// run scans all rows.
func (s *search[T]) run() {
	idle := true
	for _, x := range s.queries {
		idle = idle && (x.norm != x.norm || x.k == 0 || s.secondPass && math.IsInf(x.least, 1))
	}
	if idle && s.values == nil {
		return
	}
	size := max(rangeBytes/(8*s.q.words)/chunkRows, 1) * chunkRows
	s.ranges = s.ranges[:0]
	for i := range s.segments {
		all := &s.segments[i]
		for k, c := range all.clusters {
			n := c.before(all.n)
			if n == 0 || !slices.ContainsFunc(s.queries, func(x *query[T]) bool { return x.scans(k) }) {
				continue
			}
			for _, b := range c.blocks {
				end := min(b.size, n-b.first)
				for lo := 0; lo < end; lo += size {
					s.ranges = append(s.ranges, blockRange{i, k, b, lo, min(lo+size, end)})
				}
			}
		}
	}
	parallel.Do(len(s.ranges), s)
}

// scanner is the memory of a goroutine that scans a blockRange in chunks of up to chunkRows rows.
type scanner struct {
	blockRange                          // of the chunk
	base         int                    // the number of the first row of the segment in all segments
	longest      float64                // the largest of the stored norms
	factor       float64                // the largest of factors
	across       float64                // a bound of ‖s‖²/(sᵀu)² − 1 for all rows, in the second pass
	smallestNorm float64                // a bound of ‖x‖ for cosines with centres
	largestNorm  float64                // likewise
	selected     [chunkRows / 64]uint64 // a bit for each row: the options of the search select it
	allSelected  bool

	products [group * chunkRows]float32
	scores   [chunkRows]float32
	factors  [chunkRows]float32 // the score is factor·product + …
	squares  [chunkRows]float32 // ‖x−c‖², or ‖c‖² − ‖x‖² for cosines with centres

	best, possible [][]candidate // of each query, in the whole blockRange
}

// Piece scans blockRange i for all queries.
func (s *search[T]) Piece(i int) {
	if s.ended() {
		return
	}
	p, all := s.q.scanners.Get(), &s.ranges[i]
	for len(p.best) < len(s.queries) {
		p.best, p.possible = append(p.best, nil), append(p.possible, nil)
	}
	for k := range s.queries {
		p.best[k], p.possible[k] = p.best[k][:0], p.possible[k][:0]
	}
	batch := &s.queryBatch
	if s.q.centres != nil {
		batch = s.q.shifted.Get()
		defer s.q.shifted.Put(batch)
		batch.reset()
		for _, x := range s.queries {
			if x.scans(all.cluster) {
				s.shift(batch, x, all.cluster)
			}
		}
	}
	p.blockRange, p.base = *all, s.bases[all.segment]
	for ; p.lo < all.hi; p.lo += chunkRows {
		p.hi = min(p.lo+chunkRows, all.hi)
		s.scan(p, batch)
	}
	for k, x := range s.queries {
		x.merge(p.best[k], p.possible[k])
	}
	p.b = nil
	s.q.scanners.Put(p)
}

// ended reports whether the context has ended.
func (s *search[T]) ended() bool { return s.ctx != nil && s.ctx.Err() != nil }

// scan scans the chunk of p. It stops when the context ends.
func (s *search[T]) scan(p *scanner, batch *queryBatch[T]) {
	if !s.selectRows(p) {
		return
	}
	b, lo, hi := p.b, p.lo, p.hi
	if s.values == nil {
		s.bound(p)
	}
	for k := 0; k < len(batch.queries) && !s.ended(); k += group {
		some := batch.queries[k:min(k+group, len(batch.queries))]
		rows := b.words[lo*s.q.words : hi*s.q.words]
		s.q.products(p.products[:], rows, hi-lo, some, batch)
		if s.values != nil {
			s.q.refine(p.products[:], rows, hi-lo, some[0], batch)
		}
		for j, x := range some {
			products := p.products[j*(hi-lo):][:hi-lo]
			switch {
			case s.secondPass:
				s.offerPossible(p, x, products)
				continue
			case s.values == nil:
				s.offer(p, x, products)
				continue
			}
			for i, v := range products {
				s.values[b.id(lo+i)] = s.value(x, float64(b.norms[lo+i]), b.centreProduct(lo+i), float64(v)*b.ratio(lo+i))
			}
		}
	}
}

// products computes sᵀp of n rows for some queries of a batch.
func (q *quantiser[T]) products(dst []float32, rows []uint64, n int, some []*query[T], batch *queryBatch[T]) {
	digits := batch.digits[some[0].at:]
	if q.table != nil {
		scan.LevelProducts(dst, rows, q.table, digits, n, q.words, q.width, len(some), n)
	} else {
		scan.Products(dst, rows, digits, n, q.words, q.width, len(some), n)
	}
	for j, x := range some {
		vecmath.Scale(dst[j*n:][:n], x.scale)
	}
}

// refine adds what products has left of a query for codes of 1 bit. dst has n more elements.
func (q *quantiser[T]) refine(dst []float32, rows []uint64, n int, x *query[T], batch *queryBatch[T]) {
	if q.width == 1 {
		scan.Products(dst[n:], rows, batch.lower[x.at:], n, q.words, 1, 1, n)
		vecmath.AddScaled(dst[:n], dst[n:2*n], x.scale/256)
	}
}

// rowProduct computes sᵀp of a row as Estimates does.
func (q *quantiser[T]) rowProduct(row []uint64, x *query[T], batch *queryBatch[T]) float64 {
	var out [2]float32
	q.products(out[:], row, 1, []*query[T]{x}, batch)
	q.refine(out[:], row, 1, x, batch)
	return float64(out[0])
}

// bound sets the bounds of a chunk that all queries use.
func (s *search[T]) bound(p *scanner) {
	b, lo, hi := p.b, p.lo, p.hi
	norms, factors := b.norms[lo:hi], p.factors[:hi-lo]
	switch {
	case s.by != Cosine || s.q.centres != nil:
		copy(factors, norms)
	default:
		for i, v := range norms {
			factors[i] = 1
			if v == 0 {
				factors[i] = 0
			}
		}
	}
	if b.ratios != nil {
		vecmath.Multiply(factors, b.ratios[lo:hi])
	}
	p.factor, p.longest = float64(vecmath.Peak(factors)), float64(vecmath.Peak(norms))
	if s.secondPass {
		p.across = s.q.acrossBound(p)
	}
	if s.by == SquaredDistance || s.q.centres != nil {
		copy(p.squares[:], norms)
		vecmath.Multiply(p.squares[:hi-lo], norms)
	}
	if s.by == Cosine && s.q.centres != nil {
		vecmath.AddScaled(p.squares[:hi-lo], b.centreProducts[lo:hi], 2)
		square, high := s.q.centres[p.cluster].square, float64(vecmath.Peak(p.squares[:hi-lo]))
		vecmath.Scale(p.squares[:hi-lo], -1)
		low := -float64(vecmath.Peak(p.squares[:hi-lo]))
		slack := roundings * (square + p.longest*p.longest)
		p.smallestNorm, p.largestNorm = math.Sqrt(max(0, square+low-slack)), math.Sqrt(max(0, square+high+slack))
	}
}

// selectRows selects the rows of a chunk by Only and Except, and reports whether there are any.
func (s *search[T]) selectRows(p *scanner) bool {
	b, n := p.b, p.hi-p.lo
	only, except := s.options.Only, s.options.Except
	count := 0
	for w := range p.selected {
		left := min(max(n-64*w, 0), 64)
		word, from := ^uint64(0)>>(64-left), p.lo+64*w
		switch {
		case only == nil && except == nil:
		case b.ids != nil:
			for i := range left {
				if !s.selects(p.segment, int(b.ids[from+i])) {
					word &^= 1 << i
				}
			}
		default:
			if only != nil {
				word &= only[p.segment].word(b.first + from)
			}
			if except != nil {
				word &^= except[p.segment].word(b.first + from)
			}
		}
		p.selected[w] = word
		count += bits.OnesCount64(word)
	}
	p.allSelected = count == n
	return count > 0
}

// hide replaces the scores of rows that are not selected by NaN.
func (p *scanner) hide(scores []float32) {
	for w, word := range p.selected {
		for word = ^word; word != 0; word &= word - 1 {
			i := 64*w + bits.TrailingZeros64(word)
			if i >= len(scores) {
				return
			}
			scores[i] = float32(math.NaN())
		}
	}
}

// nextSelected returns the first selected row from i on, or chunkRows.
func (p *scanner) nextSelected(i int) int {
	for w := i / 64; w < len(p.selected); w++ {
		if word := p.selected[w] >> (i % 64); word != 0 {
			return i + bits.TrailingZeros64(word)
		}
		i = 64 * (w + 1)
	}
	return chunkRows
}

// selects reports whether Only and Except select a row.
func (s *search[T]) selects(segment, id int) bool {
	o := &s.options
	return (o.Only == nil || o.Only[segment].Has(id)) && (o.Except == nil || !o.Except[segment].Has(id))
}

// accepts reports whether Accept accepts a row.
func (s *search[T]) accepts(segment, id int) bool {
	return s.options.Accept == nil || s.options.Accept(segment, id)
}
