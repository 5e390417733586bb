package quantise

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// chunk is up to chunkRows rows of a block, with what all queries need of them.
type chunk struct {
	b       *block
	lo, n   int // places of b
	segment int
	base    int     // the number of the first row of the segment among those of all segments
	longest float64 // norm
	factor  float64 // the largest
	across  float64 // a bound of ‖s‖²/(sᵀu)² − 1 for all rows, in the second pass
	// With centres, for cosines: bounds of the norms of rows.
	shortestWhole, longestWhole float64
}

// chunk returns places [lo, hi) of a block.
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
		vecmath.AddScaled(p.squares[:hi-lo], b.alongs[lo:hi], 2)
		square, high := s.q.centres[at.cluster].square, float64(vecmath.Peak(p.squares[:hi-lo]))
		vecmath.Scale(p.squares[:hi-lo], -1)
		low := -float64(vecmath.Peak(p.squares[:hi-lo]))
		slack := roundings * (square + r.longest*r.longest)
		r.shortestWhole, r.longestWhole = math.Sqrt(max(0, square+low-slack)), math.Sqrt(max(0, square+high+slack))
	}
	return r
}

// offer adds rows that are among the best so far to the results of a query.
func (s *search[T]) offer(p *workspace, x *query[T], l *results, r *chunk, products []float32) {
	worst := math.Float64frombits(x.of.worst.Load())
	if len(l.best) == x.k {
		if x.k == 0 {
			return
		}
		worst = max(worst, l.best[0].score)
	}
	if s.allBelow(p, x, r, products, 0, worst) {
		return
	}
	for i := p.mask.next(0); i < r.n; i = p.mask.next(i + 1) {
		place := r.lo + i
		norm, along, ratio := float64(r.b.norms[place]), r.b.along(place), r.b.ratio(place)
		score := s.score(x, norm, along, (float64(products[i])+x.slack)*ratio)
		if score < worst {
			continue
		}
		if x.slack > 0 {
			if score = s.score(x, norm, along, s.product(r.b.code(place, s.q.words).words, x, &s.roundedQueries)*ratio); score < worst {
				continue
			}
		}
		id := r.b.id(place)
		c := candidate{score, r.base + id}
		if len(l.best) == x.k && !l.best[0].worse(c) || !s.accepts(r.segment, id) {
			continue
		}
		if l.best = keep(l.best, c, x.k); len(l.best) == x.k {
			worst = max(worst, l.best[0].score)
		}
	}
}

// score returns the number by which a row of the given norm is ranked, from the estimate of the cosine.
// With centres the score is the value, or the negative of a distance. The score of a scaled query is
// proportional to the value and does not contain the norm of the query.
func (s *search[T]) score(x *query[T], norm, along, cosine float64) float64 {
	switch {
	case x.centre != nil && s.by == SquaredDistance && x.exponent != 0:
		whole := x.fullNorm(norm, along)
		return float64(2*x.centredValue(InnerProduct, norm, along, cosine)*x.up) - float64(whole*whole*x.down)
	case x.centre != nil && s.by == SquaredDistance:
		return -x.centredValue(s.by, norm, along, cosine)
	case x.centre != nil:
		return x.centredValue(s.by, norm, along, cosine)
	case s.by == InnerProduct:
		return norm * cosine
	case s.by == SquaredDistance:
		return norm * (float64(2*x.norm*x.up*cosine) - float64(norm*x.down))
	case norm == 0:
		return 0
	}
	return cosine
}

// allBelow reports whether the scores of all rows that count are below worst, even if each cosine
// exceeds its estimate by margin. allBelow computes scores in float32, many at a time, and allows for
// their rounding. It may report false although all scores are below worst.
func (s *search[T]) allBelow(p *workspace, x *query[T], r *chunk, products []float32, margin, worst float64) bool {
	if x.centre != nil {
		return s.allBelowCentred(p, x, r, products, margin, worst)
	}
	if s.by != SquaredDistance {
		peak := (max(float64(vecmath.Peak(products)), 0) + x.slack) * r.factor
		if s.by == Cosine {
			peak += margin
		} else {
			peak += margin * r.longest
		}
		if peak*(1+0x1p-20) < worst {
			return true
		}
	}
	scores := p.scores[:r.n]
	copy(scores, products)
	vecmath.Multiply(scores, p.factors[:r.n])
	if x.slack > 0 {
		vecmath.AddScaled(scores, p.factors[:r.n], float32(x.slack*(1+0x1p-20)))
	}
	if margin > 0 && s.by != Cosine {
		vecmath.AddScaled(scores, r.b.norms[r.lo:][:r.n], float32(margin))
	}
	squares := 0.0
	if s.by == SquaredDistance {
		if r.longest > 0x1p60 || r.longest < 0x1p-60 || x.norm > 0x1p60 || x.exponent != 0 {
			return false
		}
		vecmath.Scale(scores, float32(2*x.norm))
		vecmath.AddScaled(scores, p.squares[:r.n], -1)
		squares = r.longest * r.longest
	}
	if !p.mask.all {
		p.mask.hide(scores)
	}
	peak := float64(vecmath.Peak(scores))
	if s.by == Cosine {
		peak += margin
	}
	return peak+0x1p-20*(math.Abs(peak)+2*squares) < worst
}

// merge adds the results of one range of a block to those of the query.
func (x *query[T]) merge(l *results) {
	if len(l.best) == 0 && len(l.possible) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, b := range l.best {
		x.best = keep(x.best, b, x.k)
	}
	if len(x.best) == x.k {
		x.worst.Store(math.Float64bits(x.best[0].score))
	}
	x.possible = append(x.possible, l.possible...)
}

// candidate is a row and its score.
type candidate struct {
	score float64
	row   int // among those of all segments
}

// worse reports whether a comes after b.
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
