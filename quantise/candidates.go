package quantise

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// candidate is a row and its score.
type candidate struct {
	score float64
	row   int // the number of the row in all segments
}

// worse reports whether a ranks below b.
func (a candidate) worse(b candidate) bool {
	return a.score < b.score || a.score == b.score && a.row > b.row
}

// keep adds c to a heap of at most k candidates if c is among the best k, and returns the heap. The
// first candidate of the heap is the worst.
func keep(heap []candidate, c candidate, k int) []candidate {
	if len(heap) < k {
		heap = append(heap, c)
		for i := len(heap) - 1; i > 0 && heap[i].worse(heap[(i-1)/2]); i = (i - 1) / 2 {
			heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
		}
		return heap
	}
	if !heap[0].worse(c) {
		return heap
	}
	heap[0] = c
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if heap[child].worse(heap[worst]) {
				worst = child
			}
		}
		if worst == i {
			return heap
		}
		heap[i], heap[worst] = heap[worst], heap[i]
		i = worst
	}
}

// found reports whether x.best, which is sorted by row number, contains a row.
func (x *query[T]) found(row int) bool {
	_, ok := slices.BinarySearchFunc(x.best, row, func(c candidate, row int) int { return cmp.Compare(c.row, row) })
	return ok
}

// merge adds the candidates of a blockRange to the candidates of the query.
func (x *query[T]) merge(best, possible []candidate) {
	if len(best) == 0 && len(possible) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, b := range best {
		x.best = keep(x.best, b, x.k)
	}
	if len(x.best) == x.k {
		x.worst.Store(math.Float64bits(x.best[0].score))
	}
	x.possible = append(x.possible, possible...)
}

// offer adds the rows of a chunk that are among the best k so far to the candidates of a query.
func (s *search[T]) offer(p *scanner, x *query[T], products []float32) {
	best := p.best[x.index]
	worst := math.Float64frombits(x.original.worst.Load())
	if len(best) == x.k {
		if x.k == 0 {
			return
		}
		worst = max(worst, best[0].score)
	}
	if s.allBelow(p, x, products, 0, worst) {
		return
	}
	for i := p.nextSelected(0); i < p.hi-p.lo; i = p.nextSelected(i + 1) {
		place := p.lo + i
		norm, centreProduct, ratio := float64(p.b.norms[place]), p.b.centreProduct(place), p.b.ratio(place)
		score := s.score(x, norm, centreProduct, (float64(products[i])+x.slack)*ratio)
		if score < worst {
			continue
		}
		if x.slack > 0 {
			if score = s.score(x, norm, centreProduct, s.rowProduct(p.b.code(place, s.q.words).words, x, &s.queryBatch)*ratio); score < worst {
				continue
			}
		}
		id := p.b.id(place)
		c := candidate{score, p.base + id}
		if len(best) == x.k && !best[0].worse(c) || !s.accepts(p.segment, id) {
			continue
		}
		best = keep(best, c, x.k)
		if p.best[x.index] = best; len(best) == x.k {
			worst = max(worst, best[0].score)
		}
	}
}

// offerPossible adds the rows of a chunk whose upper bounds exceed the worst exact value so far to the
// candidates of a query.
func (s *search[T]) offerPossible(p *scanner, x *query[T], products []float32) {
	most, rounding := s.errorBound(x, p.across)
	least := x.original.least
	if math.IsInf(least, 1) || s.allBelow(p, x, products, most+rounding+roundings, least) {
		return
	}
	for i := p.nextSelected(0); i < p.hi-p.lo; i = p.nextSelected(i + 1) {
		place := p.lo + i
		norm, centreProduct, cosine := float64(p.b.norms[place]), p.b.centreProduct(place), float64((float64(products[i])+x.slack)*p.b.ratio(place))
		if s.upperScore(x, norm, centreProduct, upperCosine(cosine+rounding, most)) <= least {
			continue
		}
		own := p.b.code(place, s.q.words)
		if x.slack > 0 {
			cosine = float64(s.rowProduct(own.words, x, &s.queryBatch) * own.ratio)
		}
		law, _ := s.errorBound(x, max(0, s.q.lengthSquare(own)-1+0x1p-22))
		high := upperCosine(cosine+rounding, min(most, law))
		id := p.b.id(place)
		c := candidate{s.upperScore(x, norm, centreProduct, high), p.base + id}
		if c.score > least && !x.original.found(c.row) && s.accepts(p.segment, id) {
			p.possible[x.index] = append(p.possible[x.index], c)
		}
	}
}

// allBelow reports whether the scores of all marked rows are below worst, even if each cosine
// exceeds its estimate by margin. allBelow computes scores in float32, many at a time, and allows
// for their rounding errors. It may report false although all scores are below worst.
func (s *search[T]) allBelow(p *scanner, x *query[T], products []float32, margin, worst float64) bool {
	centred, size := x.centre != nil, 0.0
	switch {
	case centred:
		size = math.Sqrt(x.centre.square)
		// float32 represents these numbers with too few digits or not at all.
		if size > 0x1p60 || p.longest > 0x1p60 || x.norm > 0x1p60 || !(x.norm > 0) || !(x.original.norm > 0) || p.longest*x.norm < 0x1p-100 ||
			s.by != InnerProduct && p.longest < 0x1p-60 || s.by == SquaredDistance && x.exponent != 0 {
			return false
		}
	case s.by == SquaredDistance:
		if p.longest > 0x1p60 || p.longest < 0x1p-60 || x.norm > 0x1p60 || x.exponent != 0 {
			return false
		}
	default: // the largest product and the largest factor may be enough
		peak := (max(float64(vecmath.Peak(products)), 0) + x.slack) * p.factor
		if s.by == Cosine {
			peak += margin
		} else {
			peak += margin * p.longest
		}
		if peak*(1+0x1p-20) < worst {
			return true
		}
	}
	scores := p.scores[:p.hi-p.lo]
	copy(scores, products)
	vecmath.Multiply(scores, p.factors[:p.hi-p.lo])
	if x.slack > 0 {
		vecmath.AddScaled(scores, p.factors[:p.hi-p.lo], float32(x.slack*(1+0x1p-20)))
	}
	if margin > 0 && (centred || s.by != Cosine) {
		vecmath.AddScaled(scores, p.b.norms[p.lo:][:p.hi-p.lo], float32(margin))
	}
	share, add, squares := x.t, x.product, 0.0
	switch {
	case s.by == SquaredDistance:
		share, add, squares = -2*x.short, -x.distance, p.longest*p.longest
		vecmath.Scale(scores, float32(2*x.norm))
		vecmath.AddScaled(scores, p.squares[:p.hi-p.lo], -1)
	case centred:
		vecmath.Scale(scores, float32(x.norm))
	}
	if p.b.centreProducts != nil {
		vecmath.AddScaled(scores, p.b.centreProducts[p.lo:][:p.hi-p.lo], float32(share))
	}
	if !p.allSelected {
		p.hide(scores)
	}
	peak := float64(vecmath.Peak(scores))
	slack := math.Abs(peak) + 2*squares
	switch {
	case centred:
		slack += math.Abs(add) + 4*math.Abs(share)*size*p.longest + 2*margin*p.longest*x.norm
		if s.by == Cosine {
			norm := p.largestNorm
			if worst > 0 {
				norm = p.smallestNorm
			}
			worst *= norm * x.original.norm
		}
	case s.by == Cosine:
		peak += margin
		slack += margin
	}
	return peak+add+0x1p-20*slack < worst
}
