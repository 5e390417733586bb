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
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// search is a search of queries in the codes of segments. It scans the codes once, or twice with
// SearchOptions.Rows.
type search[T dense.Float] struct {
	q        *quantiser[T]
	by       Measure
	ctx      context.Context // nil if the search has none
	options  SearchOptions[T]
	segments []segment
	n        int // the number of rows of all segments
	ranges   []blockRange

	queries, kept []*query[T] // queries is a prefix of kept, whose memory later searches use
	values        []float64   // the result of Estimates; nil in a search
	secondPass    bool        // run finds rows whose upper bounds exceed the worst exact value

	roundedQueries                   // of queries, without centres
	last           shiftedQueries[T] // the shifted query of the latest estimate

	rowData []T   // the result of SearchOptions.Rows
	rowIDs  []int // the numbers of these rows
}

// segment is the rows of one of the Codes of a search. base is the number of rows of the segments
// before it.
type segment struct {
	rows rows
	base int
}

// blockRange is places [lo, hi) of a block. A goroutine scans one blockRange at a time.
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

// add adds the published rows of c as a segment.
func (s *search[T]) add(c *codes[T]) {
	all := *c.rows()
	s.segments = append(s.segments, segment{all, s.n})
	s.n += all.n
}

// locate returns the segment of a row, and the number of the row in the segment.
func (s *search[T]) locate(row int) (segment, id int) {
	for s.segments[segment].base+s.segments[segment].rows.n <= row {
		segment++
	}
	return segment, row - s.segments[segment].base
}

// end returns the memory of the search to the pool, without references to codes and options.
func (s *search[T]) end() {
	clear(s.segments)
	clear(s.ranges)
	s.segments, s.ranges, s.queries = s.segments[:0], s.ranges[:0], nil
	s.ctx, s.options, s.values, s.secondPass = nil, SearchOptions[T]{}, nil, false
	s.split = false
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
		all := &s.segments[i].rows
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

// workspace is the memory of a goroutine that scans a blockRange.
type workspace struct {
	products [group * chunkRows]float32
	scores   [chunkRows]float32
	factors  [chunkRows]float32 // the score is factor·product + …
	squares  [chunkRows]float32 // ‖x−c‖², or ‖c‖² − ‖x‖² for cosines with centres
	split    []uint64
	results  []results
	mask     mask
}

// results are the candidates of a query in a blockRange, as in query.
type results struct {
	best, possible []candidate
}

// Piece scans blockRange i for all queries.
func (s *search[T]) Piece(i int) {
	if s.ended() {
		return
	}
	p, at := s.q.workspaces.Get(), &s.ranges[i]
	for len(p.results) < len(s.queries) {
		p.results = append(p.results, results{})
	}
	for k := range s.queries {
		p.results[k].best, p.results[k].possible = p.results[k].best[:0], p.results[k].possible[:0]
	}
	queries, d := s.queries, &s.roundedQueries
	if s.q.centres != nil {
		a := s.q.shifted.Get()
		defer s.q.shifted.Put(a)
		a.reset()
		for _, x := range s.queries {
			if x.scans(at.cluster) {
				s.shift(a, x, at.cluster)
			}
		}
		queries, d = a.queries, &a.roundedQueries
	}
	for lo := at.lo; lo < at.hi; lo += chunkRows {
		s.scan(p, at, lo, min(lo+chunkRows, at.hi), queries, d)
	}
	for k, x := range s.queries {
		x.merge(&p.results[k])
	}
	s.q.workspaces.Put(p)
}

// ended reports whether the context has ended.
func (s *search[T]) ended() bool { return s.ctx != nil && s.ctx.Err() != nil }

// scan scans the rows in places [lo, hi) of a block. It stops when the context ends.
func (s *search[T]) scan(p *workspace, at *blockRange, lo, hi int, queries []*query[T], d *roundedQueries) {
	b := at.b
	if !s.mark(&p.mask, at.segment, b, lo, hi-lo) {
		return
	}
	if q := s.q; d.split {
		p.split = scratch.Resize(p.split, (hi-lo)*scan.SplitWords(q.words, q.width))
		scan.Split(p.split, b.words[lo*q.words:hi*q.words], q.words, q.width)
	}
	c := s.chunk(p, at, lo, hi)
	for k := 0; k < len(queries) && !s.ended(); k += group {
		some := queries[k:min(k+group, len(queries))]
		s.products(p, b, lo, hi, some, d)
		for j, x := range some {
			products := p.products[j*(hi-lo):][:hi-lo]
			switch {
			case s.secondPass:
				s.offerPossible(p, x, &p.results[x.index], &c, products)
				continue
			case s.values == nil:
				s.offer(p, x, &p.results[x.index], &c, products)
				continue
			}
			for i, v := range products {
				s.values[b.id(lo+i)] = s.value(x, float64(b.norms[lo+i]), b.centreProduct(lo+i), float64(v)*b.ratio(lo+i))
			}
		}
	}
}

// products computes sᵀp of the rows in places [lo, hi) for some queries. For codes of 1 bit, a
// search uses the queries rounded to 6 bits, and Estimates uses the unrounded ones.
func (s *search[T]) products(p *workspace, b *block, lo, hi int, some []*query[T], d *roundedQueries) {
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
			if d.split { // integers below 2²⁴: half of the sum of all weights and of the signed weights
				vecmath.Affine(out, out, 0.5, float32(0.5*x.sum))
			} else {
				scan.Signs(out, rows, x.planes, q.words)
			}
			// out becomes the sum of the weights, each with the sign of its code.
			scale := float64(q.levels[1]) * x.step
			vecmath.Affine(out, out, float32(2*scale), float32(-scale*x.sum))
		}
	}
}

// product computes sᵀp of a row as Estimates does.
func (s *search[T]) product(row []uint64, x *query[T], d *roundedQueries) float64 {
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

// chunk is n ≤ chunkRows rows in places [lo, lo+n) of a block, and bounds that all queries use.
type chunk struct {
	b             *block
	lo, n         int
	segment, base int     // base is the number of the first row of the segment in all segments
	longest       float64 // the largest of the stored norms
	factor        float64 // the largest of the factors in workspace
	across        float64 // a bound of ‖s‖²/(sᵀu)² − 1 for all rows, in the second pass

	smallestNorm, largestNorm float64 // bounds of ‖x‖ for cosines with centres
}

// chunk returns the chunk in places [lo, hi) of a block.
func (s *search[T]) chunk(p *workspace, at *blockRange, lo, hi int) chunk {
	b := at.b
	r := chunk{b: b, lo: lo, n: hi - lo, segment: at.segment, base: s.segments[at.segment].base}
	if s.values != nil {
		return r
	}
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
	r.factor, r.longest = float64(vecmath.Peak(factors)), float64(vecmath.Peak(norms))
	if s.secondPass {
		r.across = s.q.across(p, b, lo, hi)
	}
	if s.by == SquaredDistance || s.q.centres != nil {
		copy(p.squares[:], norms)
		vecmath.Multiply(p.squares[:hi-lo], norms)
	}
	if s.by == Cosine && s.q.centres != nil {
		vecmath.AddScaled(p.squares[:hi-lo], b.centreProducts[lo:hi], 2)
		square, high := s.q.centres[at.cluster].square, float64(vecmath.Peak(p.squares[:hi-lo]))
		vecmath.Scale(p.squares[:hi-lo], -1)
		low := -float64(vecmath.Peak(p.squares[:hi-lo]))
		slack := roundings * (square + r.longest*r.longest)
		r.smallestNorm, r.largestNorm = math.Sqrt(max(0, square+low-slack)), math.Sqrt(max(0, square+high+slack))
	}
	return r
}

// mask marks the rows of a chunk that the options of a search select.
type mask struct {
	words [chunkRows / 64]uint64
	all   bool // all rows of the chunk are marked
}

// mark marks the selected ones of n rows from place lo of a block, and reports whether there are
// any.
func (s *search[T]) mark(m *mask, segment int, b *block, lo, n int) bool {
	only, except := s.options.Only, s.options.Except
	count := 0
	for w := range m.words {
		left := min(max(n-64*w, 0), 64)
		word, from := ^uint64(0)>>(64-left), lo+64*w
		switch {
		case only == nil && except == nil:
		case b.ids != nil:
			for i := range left {
				if !s.selects(segment, int(b.ids[from+i])) {
					word &^= 1 << i
				}
			}
		default:
			if only != nil {
				word &= only[segment].word(b.first + from)
			}
			if except != nil {
				word &^= except[segment].word(b.first + from)
			}
		}
		m.words[w] = word
		count += bits.OnesCount64(word)
	}
	m.all = count == n
	return count > 0
}

// hide replaces the scores of unmarked rows by NaN.
func (m *mask) hide(scores []float32) {
	for w, word := range m.words {
		for word = ^word; word != 0; word &= word - 1 {
			i := 64*w + bits.TrailingZeros64(word)
			if i >= len(scores) {
				return
			}
			scores[i] = float32(math.NaN())
		}
	}
}

// next returns the first marked row from i on, or chunkRows.
func (m *mask) next(i int) int {
	for w := i / 64; w < len(m.words); w++ {
		if word := m.words[w] >> (i % 64); word != 0 {
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
