package quantise

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// search is one search: its queries, its options, and the rows. A search scans all codes once, or
// twice with SearchOptions.Rows.
type search[T dense.Float] struct {
	q       *quantiser[T]
	by      Measure
	ctx     context.Context // nil if the search has none
	options SearchOptions[T]
	rows    *rows
	ranges  []blockRange

	queries []*ranking
	kept    []*ranking // queries is a prefix of kept, whose memory later searches use
	// of each part that scan.Products multiplies: the digits of the queries
	tiles      [mostParts][]uint64
	whole      []int16
	secondPass bool // run finds rows whose upper bounds exceed the worst exact value

	rowData []T   // the result of SearchOptions.Rows
	rowIDs  []int // the numbers of these rows
}

type ranking struct {
	*Query
	index int // the index in search.queries
	// common is the rounded vector for all clusters, but for those near to the query.
	common *rounded
	k      int // number of rows to find
	mu     sync.Mutex
	best   []scoredRow   // the result of keep for the best rows
	worst  atomic.Uint64 // float64 bits of the score of the worst of k rows, −Inf for fewer rows

	// With SearchOptions.Rows:
	exact []scoredRow // the best k rows by exact values
	least scoredRow   // the worst row in exact
	// rows outside best whose upper bounds are not worse than least; their scores are the bounds
	possible []scoredRow
	zExact   float64 // the number of standard errors of an upper bound

	clusters []bool // the clusters to scan; none means all
	chosen   []scoredRow
}

// blockRange is the rows in places [lo, hi) of a block. A goroutine scans one blockRange at a time.
type blockRange struct {
	cluster int
	b       *codeBlock
	lo, hi  int
}

const (
	rangeBytes = 1 << 18 // bytes of the codes of a blockRange
	chunkRows  = 256     // rows of one call of a kernel
	group      = 8       // queries of one call of a kernel
	// if fewer of the rows of a chunk are selected, the others are not multiplied
	fewShare = 8

	// Processors fetch rows fastest in the order of their addresses. Kernels for several rows are
	// faster if rows are in a cache, with fewer than inCaches words.
	inCaches = 1 << 21
	fewWords = 32
)

func (q *quantiser[T]) begin(r *rows, by Measure) *search[T] {
	s := q.searches.Get()
	s.q, s.rows, s.by = q, r, by
	return s
}

func (s *search[T]) addQuery(query *Query, wanted int) {
	if query.norm != query.norm { // the hits are the first rows
		wanted = 0
	}
	n := len(s.queries)
	if n == len(s.kept) {
		s.kept = append(s.kept, new(ranking))
	}
	s.queries = s.kept[:n+1]
	x := s.kept[n]
	x.Query, x.index, x.k, x.best, x.possible = query, n, wanted, x.best[:0], x.possible[:0]
	x.worst.Store(math.Float64bits(math.Inf(-1)))
	if s.options.Rows != nil {
		x.zExact = normalQuantile(cmp.Or(query.miss, exactMiss) / float64(max(wanted, 1)))
	}
	if s.q.centred() {
		s.chooseCentres(x)
	}
}

// arrange sets the tiles of the parts that scan.Products multiplies by all queries.
func (s *search[T]) arrange() {
	for _, x := range s.queries {
		if x.common = &x.rounded; s.q.bands != nil {
			x.common = x.roundedOf(s.q.shiftOf(x.Query, 0))
		}
	}
	for k := range s.q.digits {
		p := &s.q.digits[k]
		s.tiles[k] = s.tiles[k][:0]
		if len(s.queries) == 1 && scan.Listed() && !s.short(p) {
			continue
		}
		size := scan.DigitWords(p.words, p.width)
		s.tiles[k] = scratch.Resize(s.tiles[k], size*len(s.queries))
		for i, x := range s.queries {
			s.whole = x.common.parts[k].writeTile(s.tiles[k][i*size:][:size], s.whole)
		}
	}
}

func (s *search[T]) end() {
	clear(s.ranges)
	s.rows, s.ranges = nil, s.ranges[:0]
	for _, x := range s.queries {
		x.Query, x.common = nil, nil
	}
	s.ctx, s.options, s.secondPass, s.queries = nil, SearchOptions[T]{}, false, s.kept[:0]
	s.q.searches.Put(s)
}

func (s *search[T]) run() {
	idle := true
	for _, x := range s.queries {
		idle = idle && (x.norm != x.norm || x.k == 0 || s.secondPass && math.IsInf(x.least.score, 1))
	}
	if idle {
		return
	}
	s.arrange()
	size := max(rangeBytes/(8*s.q.words)/chunkRows, 1) * chunkRows
	s.ranges = s.ranges[:0]
	for k, c := range s.rows.clusters {
		if c.n == 0 || !slices.ContainsFunc(s.queries, func(x *ranking) bool { return x.scans(k) }) {
			continue
		}
		for _, b := range c.blocks {
			end := min(b.size, c.n-b.first)
			for lo := 0; lo < end; lo += size {
				s.ranges = append(s.ranges, blockRange{k, b, lo, min(lo+size, end)})
			}
		}
	}
	parallel.Do(len(s.ranges), s)
}

type scanner struct {
	blockRange         // of the chunk
	longest    float64 // the largest of the stored norms
	factor     float64 // the largest of factors
	// the largest ‖s‖²/(sᵀu)² − 1 and bound of the bias of the chunk, in the second pass
	variance, bias float64
	smallestNorm   float64                // a bound of ‖x‖ for cosines with centres
	largestNorm    float64                // likewise
	selected       [chunkRows / 64]uint64 // a bit for each row: the options of the search select it
	allSelected    bool
	few            bool // few rows are selected, which are multiplied one by one

	partial [group * chunkRows]float32 // the products of a part of the rows, with bands

	listedRows
	products [group * chunkRows]float32 // sᵀp/‖p‖, for the rounded vector p of each query
	scores   [chunkRows]float32
	factors  [chunkRows]float32 // the score is factor·product + …
	squares  [chunkRows]float32 // ‖x−c‖², or ‖c‖² − ‖x‖² for cosines with centres

	best, possible [][]scoredRow // of each query, in the whole blockRange
}

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
	p.blockRange = *all
	for ; p.lo < all.hi; p.lo += chunkRows {
		p.hi = min(p.lo+chunkRows, all.hi)
		s.scan(p)
	}
	for k, x := range s.queries {
		x.merge(p.best[k], p.possible[k])
	}
	p.b = nil
	s.q.scanners.Put(p)
}

func (s *search[T]) ended() bool { return s.ctx != nil && s.ctx.Err() != nil }

func (s *search[T]) scan(p *scanner) {
	if !s.selectRows(p) {
		return
	}
	if !p.few {
		s.bound(p)
	}
	n := p.hi - p.lo
	for k := 0; k < len(s.queries) && !s.ended(); k += group {
		some := s.queries[k:min(k+group, len(s.queries))]
		s.multiply(p, some, k)
		for j, x := range some {
			products := p.products[j*n:][:n]
			switch {
			case !x.scans(p.cluster):
			case s.secondPass:
				s.offerPossible(p, x, products)
			default:
				s.offer(p, x, products)
			}
		}
	}
}

func (s *search[T]) bound(p *scanner) {
	b, lo, hi := p.b, p.lo, p.hi
	lengths, factors := b.numbers[norms][lo:hi], p.factors[:hi-lo]
	switch {
	case s.by != Cosine || s.q.centres != nil:
		copy(factors, lengths)
	default:
		for i, v := range lengths {
			factors[i] = 1
			if v == 0 {
				factors[i] = 0
			}
		}
	}
	vecmath.Multiply(factors, b.numbers[ratios][lo:hi])
	p.factor, p.longest = float64(vecmath.Peak(factors)), float64(vecmath.Peak(lengths))
	if s.secondPass {
		p.variance, p.bias = s.largestVariance(p), s.largestBias(p)
	}
	if s.by == SquaredDistance || s.by == Cosine && s.q.centres != nil {
		copy(p.squares[:], lengths)
		vecmath.Multiply(p.squares[:hi-lo], lengths)
	}
	if s.by == Cosine && s.q.centres != nil {
		vecmath.AddScaled(p.squares[:hi-lo], b.numbers[centreProducts][lo:hi], 2)
		square, high := s.q.centres[p.cluster].square, float64(vecmath.Peak(p.squares[:hi-lo]))
		vecmath.Scale(p.squares[:hi-lo], -1)
		low := -float64(vecmath.Peak(p.squares[:hi-lo]))
		slack := roundings * (square + p.longest*p.longest)
		p.smallestNorm, p.largestNorm = math.Sqrt(max(0, square+low-slack)), math.Sqrt(max(0, square+high+slack))
	}
}

// largestVariance returns a bound of ‖s‖²/(sᵀu)² − 1 for the rows of a chunk.
func (s *search[T]) largestVariance(p *scanner) float64 {
	if v := p.b.numbers[variances]; v != nil {
		return float64(vecmath.Peak(v[p.lo:p.hi])) + 0x1p-22
	}
	ratio := float64(vecmath.Peak(p.b.numbers[ratios][p.lo:p.hi]))
	return max(0, float64(s.queries[0].bit*ratio*ratio)-s.queries[0].less) + 0x1p-22
}

func (s *search[T]) largestBias(p *scanner) float64 {
	k := uint32(0)
	if s.q.bands != nil && s.q.bands.several {
		for _, v := range p.b.numbers[ratios][p.lo:p.hi] {
			k = max(k, math.Float32bits(v)&biasBits)
		}
	}
	return biasBounds[k]
}

func (x *ranking) merge(best, possible []scoredRow) {
	if len(best) == 0 && len(possible) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, b := range best {
		x.best = keep(x.best, b, x.k)
	}
	if len(x.best) >= x.k {
		x.worst.Store(math.Float64bits(x.best[x.k-1].score))
	}
	x.possible = append(x.possible, possible...)
}
