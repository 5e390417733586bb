package quantise

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
)

// value returns the estimate of the measure for a row of the given norm from the estimate of the
// cosine. In this package conversions of products keep the compiler from fusing them with sums,
// because fused sums have other bits on other processors.
func (s *search[T]) value(x *query[T], norm, centreProduct, cosine float64) float64 {
	if x.exponent != 0 && s.by != Cosine {
		product := 0.0
		switch {
		case x.centre != nil:
			product = x.centredValue(InnerProduct, norm, centreProduct, cosine)
			norm = x.fullNorm(norm, centreProduct)
		case norm > 0:
			product = norm * x.norm * cosine
		}
		if s.by == InnerProduct {
			return math.Ldexp(product, x.exponent)
		}
		return x.withSquare(float64(norm*norm) - math.Ldexp(2*product, x.exponent))
	}
	if x.centre != nil {
		return x.centredValue(s.by, norm, centreProduct, cosine)
	}
	if norm == 0 {
		cosine = 0
	}
	switch s.by {
	case InnerProduct:
		return norm * x.norm * cosine
	case SquaredDistance:
		return float64(norm*norm) + float64(x.norm*x.norm) - float64(2*norm*x.norm*cosine)
	}
	if x.norm != x.norm {
		return x.norm
	}
	return cosine
}

// centredValue returns the estimate of a measure for a row x from norm = ‖x−c‖, centreProduct =
// (x−c)ᵀc and the estimate of the cosine of x − c and q − tc.
func (x *query[T]) centredValue(by Measure, norm, centreProduct, cosine float64) float64 {
	if x.original.norm != x.original.norm {
		return x.original.norm
	}
	product := 0.0
	if norm > 0 && x.norm > 0 {
		product = float64(norm * x.norm * cosine)
	}
	switch by {
	case SquaredDistance:
		return float64(norm*norm) + x.distance + float64(2*x.short*centreProduct) - 2*product
	case Cosine:
		whole := x.fullNorm(norm, centreProduct) * x.original.norm
		if whole == 0 {
			return 0
		}
		return (x.product + float64(x.t*centreProduct) + product) / whole
	}
	return x.product + float64(x.t*centreProduct) + product
}

// fullNorm returns ‖x‖ of a row.
func (x *query[T]) fullNorm(norm, centreProduct float64) float64 {
	return math.Sqrt(max(0, float64(norm*norm)+2*centreProduct+x.centre.square))
}

// withSquare returns ‖q‖² + rest, the squared distance for rest = ‖x‖² − 2xᵀq, and +Inf if ‖q‖² is
// +Inf.
func (x *query[T]) withSquare(rest float64) float64 {
	if math.IsInf(x.square, 1) {
		return x.square
	}
	return x.square + rest
}

// exactValue returns the value of an exact row from its score.
func (x *query[T]) exactValue(by Measure, score float64) float64 {
	switch {
	case by == Cosine:
		return score
	case by == InnerProduct:
		return math.Ldexp(score, x.exponent)
	case x.exponent == 0:
		return -score
	}
	return x.withSquare(-math.Ldexp(score, max(x.exponent, 0)))
}

// estimate returns the estimate of the measure for a row, with its standard error.
func (s *search[T]) estimate(of *query[T], c code) Estimate {
	x, d := s.shiftedFor(of, c.cluster)
	cosine := s.q.rowProduct(c.words, x, d) * c.ratio
	e := Estimate{Value: s.value(x, c.norm, c.centreProduct, cosine)}
	if c.norm == 0 || x.norm == 0 {
		return e
	}
	var moments codelaw.Moments
	if s.q.options.Scheme == RaBitQ {
		moments = codelaw.Moments{Along: 1, AlongSquare: 1, Square: s.q.codeProduct(c, c) * c.ratio * c.ratio}
	} else {
		moments = s.q.theory()
	}
	e.StdErr = s.q.deviation(moments, cosine)
	switch s.by {
	case InnerProduct:
		e.StdErr = math.Ldexp(e.StdErr*(c.norm*x.norm), x.exponent)
	case SquaredDistance:
		e.StdErr = math.Ldexp(e.StdErr*(2*c.norm*x.norm), x.exponent)
	case Cosine:
		if x.centre == nil {
			break
		}
		if whole := x.fullNorm(c.norm, c.centreProduct) * of.norm; whole > 0 {
			e.StdErr *= c.norm * x.norm / whole
		} else {
			e.StdErr = 0
		}
	}
	return e
}

// score returns the number that ranks a row of the given norm, from the estimate of the cosine.
// With centres the score is the estimate of the measure, negative for a distance. Without centres
// the score does not contain the norm of the query.
func (s *search[T]) score(x *query[T], norm, centreProduct, cosine float64) float64 {
	switch {
	case x.centre != nil && s.by == SquaredDistance && x.exponent != 0:
		whole := x.fullNorm(norm, centreProduct)
		return float64(2*x.centredValue(InnerProduct, norm, centreProduct, cosine)*x.up) - float64(whole*whole*x.down)
	case x.centre != nil && s.by == SquaredDistance:
		return -x.centredValue(s.by, norm, centreProduct, cosine)
	case x.centre != nil:
		return x.centredValue(s.by, norm, centreProduct, cosine)
	case s.by == InnerProduct:
		return norm * cosine
	case s.by == SquaredDistance:
		return norm * (float64(2*x.norm*x.up*cosine) - float64(norm*x.down))
	case norm == 0:
		return 0
	}
	return cosine
}

// upperScore returns an upper bound of the score of a row whose cosine is given. The bound allows
// for the rounding errors of norms.
func (s *search[T]) upperScore(x *query[T], norm, centreProduct, cosine float64) float64 {
	score := s.score(x, norm, centreProduct, cosine)
	if x.centre != nil {
		return score + x.roundingBound(s.by, norm, centreProduct)
	}
	if s.by == SquaredDistance {
		score += float64(roundings * norm * norm * x.down)
	}
	return score
}

// roundingBound bounds the rounding error of centredValue.
func (x *query[T]) roundingBound(by Measure, norm, centreProduct float64) float64 {
	switch by {
	case SquaredDistance:
		if x.exponent != 0 {
			size := norm + math.Sqrt(x.centre.square)
			return roundings * size * (float64(size*x.down) + float64(2*x.original.norm*x.up))
		}
		return roundings * (float64(norm*norm) + math.Abs(2*x.short*centreProduct) + float64(norm*x.norm))
	case Cosine:
		whole := x.fullNorm(norm, centreProduct) * x.original.norm
		if whole == 0 {
			return 0
		}
		return roundings * (1 + (float64(norm*x.norm)+math.Abs(x.t*centreProduct)+math.Abs(x.product))/whole)
	}
	return roundings * (float64(norm*x.norm) + math.Abs(x.t*centreProduct))
}

// roundings bounds the relative rounding errors of cosines and squared norms.
const roundings = 0x1p-20

// upperCosine returns the largest cosine ρ whose estimate is too small by at most c·√(1−ρ²).
func upperCosine(estimate, c float64) float64 {
	if estimate >= 1 {
		return 1
	}
	c += roundings
	square := 1 + float64(c*c)
	return min((estimate+float64(c*math.Sqrt(max(0, square-float64(estimate*estimate)))))/square, 1)
}

// errorBound returns z standard errors of the estimate of a cosine of 0, from a code with across =
// ‖s‖²/(sᵀu)² − 1, and z standard errors of the rounding of the query.
func (s *search[T]) errorBound(x *query[T], across float64) (law, rounding float64) {
	if x.norm == 0 {
		return 0, 0
	}
	d := float64(s.q.out)
	return float64(x.z * math.Sqrt(across/(d-1))), float64(x.z * x.roundingNorm * math.Sqrt((1+across)/d))
}

// acrossBound returns a bound of ‖s‖²/(sᵀu)² − 1 for the rows of a chunk. The first search that
// needs the bound of a full chunk stores the bound in the block.
func (q *quantiser[T]) acrossBound(p *scanner) float64 {
	b, lo, hi := p.b, p.lo, p.hi
	var kept *atomic.Uint32
	if hi-lo == chunkRows || hi == b.size {
		b.once.Do(func() { b.across = make([]atomic.Uint32, (b.size+chunkRows-1)/chunkRows) })
		kept = &b.across[lo/chunkRows]
		if v := kept.Load(); v > 0 {
			return float64(math.Float32frombits(v))
		}
	}
	scores := p.scores[:hi-lo]
	switch q.width {
	case 1, 8:
		for i := range scores {
			c := b.code(lo+i, q.words)
			scores[i] = float32(q.codeProduct(c, c))
		}
	default:
		table, ones := q.squares()
		scan.LevelProducts(scores, b.words[lo*q.words:hi*q.words], table, ones, hi-lo, q.words, q.width, 1, hi-lo)
		vecmath.Scale(scores, float32(q.unit*q.unit))
	}
	vecmath.Multiply(scores, b.ratios[lo:hi])
	vecmath.Multiply(scores, b.ratios[lo:hi])
	// The factors allow for the rounding of sums of d' numbers in float32.
	across := float32(math.Max(0x1p-40, float64(float64(vecmath.Peak(scores))*(1+0x1p-16))-1+0x1p-20))
	if kept != nil {
		kept.Store(math.Float32bits(across))
	}
	return float64(across)
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
		score := s.score(x, norm, centreProduct, float64(products[i])*ratio)
		if score < worst {
			continue
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

// offerPossible adds the rows of a chunk whose upper bounds exceed the worst exact value so far to
// the candidates of a query.
func (s *search[T]) offerPossible(p *scanner, x *query[T], products []float32) {
	most, rounding := s.errorBound(x, p.across)
	least := x.original.least
	if math.IsInf(least, 1) || s.allBelow(p, x, products, most+rounding+roundings, least) {
		return
	}
	for i := p.nextSelected(0); i < p.hi-p.lo; i = p.nextSelected(i + 1) {
		place := p.lo + i
		norm, centreProduct, cosine := float64(p.b.norms[place]), p.b.centreProduct(place), float64(float64(products[i])*p.b.ratio(place))
		if s.upperScore(x, norm, centreProduct, upperCosine(cosine+rounding, most)) <= least {
			continue
		}
		own := p.b.code(place, s.q.words)
		law, _ := s.errorBound(x, max(0, s.q.lengthSquare(own)-1+0x1p-22))
		high := upperCosine(cosine+rounding, min(most, law))
		id := p.b.id(place)
		c := candidate{s.upperScore(x, norm, centreProduct, high), p.base + id}
		if c.score > least && !x.original.found(c.row) && s.accepts(p.segment, id) {
			p.possible[x.index] = append(p.possible[x.index], c)
		}
	}
}

// found reports whether x.best, which is sorted by row number, contains a row.
func (x *query[T]) found(row int) bool {
	_, ok := slices.BinarySearchFunc(x.best, row, func(c candidate, row int) int { return cmp.Compare(c.row, row) })
	return ok
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
		peak := max(float64(vecmath.Peak(products)), 0) * p.factor
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
