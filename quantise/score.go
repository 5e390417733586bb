package quantise

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// score returns the number that ranks a row, from the estimate of the cosine. With centres the score
// is the estimate of the measure, negative for a distance. Without centres the score does not
// contain the norm of the query.
func (x *Query) score(s *shift, n *numbers, cosine float64) float64 {
	norm := n.norm
	switch {
	case s != nil && x.by == SquaredDistance && x.exponent != 0:
		whole := s.fullNorm(norm, n.centreProduct)
		return float64(2*x.centredValue(InnerProduct, s, n, cosine)*x.up) - float64(whole*whole*x.down)
	case s != nil && x.by == SquaredDistance:
		return -x.centredValue(x.by, s, n, cosine)
	case s != nil:
		return x.centredValue(x.by, s, n, cosine)
	case x.by == InnerProduct:
		return norm * cosine
	case x.by == SquaredDistance:
		return norm * (float64(2*x.norm*x.up*cosine) - float64(norm*x.down))
	case norm == 0:
		return 0
	}
	return cosine
}

// upperScore returns an upper bound of the score of a row whose cosine is given. The bound allows
// for the rounding errors of norms.
func (x *Query) upperScore(s *shift, n *numbers, cosine float64) float64 {
	score := x.score(s, n, cosine)
	if s != nil {
		return score + x.roundingBound(s, n)
	}
	if x.by == SquaredDistance {
		score += float64(roundings * n.norm * n.norm * x.down)
	}
	return score
}

// roundingBound bounds the rounding error of centredValue.
func (x *Query) roundingBound(s *shift, n *numbers) float64 {
	norm := n.norm
	switch x.by {
	case SquaredDistance:
		if x.exponent != 0 {
			size := norm + s.size
			return roundings * size * (float64(size*x.down) + float64(2*x.norm*x.up))
		}
		return roundings * (float64(norm*norm) + math.Abs(2*s.short*n.centreProduct) + float64(norm*s.norm))
	case Cosine:
		whole := s.fullNorm(norm, n.centreProduct) * x.norm
		if whole == 0 {
			return 0
		}
		return roundings * (1 + (float64(norm*s.norm)+math.Abs(s.t*n.centreProduct)+math.Abs(s.product))/whole)
	}
	return roundings * (float64(norm*s.norm) + math.Abs(s.t*n.centreProduct))
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
	return max(-1, min((estimate+float64(c*math.Sqrt(max(0, square-float64(estimate*estimate)))))/square, 1))
}

// errorBound returns z standard errors of the estimate of a cosine of 0, from a code with variance =
// ‖s‖²/(sᵀu)² − 1, and z standard errors of the rounding of the query. With centres, rotations and
// products have rounding errors relative to ‖q‖ and ‖tc‖, which may exceed ‖q − tc‖.
func (x *Query) errorBound(s *shift, z, variance float64) (law, rounding float64) {
	norm := x.norm
	if s != nil {
		norm = s.norm
	}
	if norm == 0 {
		return 0, 0
	}
	rounding = math.Sqrt(3) * x.rounding * x.relative(s) // no rounding error is larger than half a step
	if s != nil {
		rounding += 0x1p-21 * (x.norm + float64(math.Abs(s.t)*s.size)) / (norm * math.Sqrt(x.out))
	}
	return float64(z * math.Sqrt(variance/(x.out-1))), float64(z * rounding * math.Sqrt(1+variance))
}

// numbersOf returns the numbers of a place of the block of p.
func (p *scanner) numbersOf(place int) numbers {
	n := p.b.numbersAt(place)
	n.cluster = p.cluster
	return n
}

// offer adds the rows of a chunk that are among the best k so far to the candidates of a query.
func (s *search[T]) offer(p *scanner, x *ranking, products []float32) {
	best, to := p.best[x.index], s.q.shiftOf(x.Query, p.cluster)
	worst := math.Float64frombits(x.worst.Load())
	if len(best) == x.k {
		if x.k == 0 {
			return
		}
		worst = max(worst, best[0].score)
	}
	if !p.few && s.allBelow(p, x.Query, to, products, 0, worst) {
		return
	}
	plain := to == nil && x.by == InnerProduct
	for i := p.nextSelected(0); i < p.hi-p.lo; i = p.nextSelected(i + 1) {
		var score float64
		if plain && p.b.numbers[ratios] != nil {
			score = float64(p.b.numbers[norms][p.lo+i]) * float64(float64(products[i])*float64(p.b.numbers[ratios][p.lo+i]))
		} else {
			n := p.numbersOf(p.lo + i)
			score = x.score(to, &n, x.cosine(to, products[i], &n))
		}
		if score < worst {
			continue
		}
		id := p.b.id(p.lo + i)
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
func (s *search[T]) offerPossible(p *scanner, x *ranking, products []float32) {
	to, least := s.q.shiftOf(x.Query, p.cluster), x.least
	if math.IsInf(least, 1) {
		return
	}
	if !p.few {
		most, rounding := x.errorBound(to, x.zExact, p.variance)
		if s.allBelow(p, x.Query, to, products, most+rounding+roundings, least) {
			return
		}
	}
	for i := p.nextSelected(0); i < p.hi-p.lo; i = p.nextSelected(i + 1) {
		n := p.numbersOf(p.lo + i)
		law, rounding := x.errorBound(to, x.zExact, x.varianceOf(&n)+0x1p-22)
		high := upperCosine(x.cosine(to, products[i], &n)+rounding, law)
		id := p.b.id(p.lo + i)
		c := candidate{x.upperScore(to, &n, high), p.base + id}
		if c.score > least && !x.found(c.row) && s.accepts(p.segment, id) {
			p.possible[x.index] = append(p.possible[x.index], c)
		}
	}
}

// found reports whether x.best, which is sorted by row number, contains a row.
func (x *ranking) found(row int) bool {
	_, ok := slices.BinarySearchFunc(x.best, row, func(c candidate, row int) int { return cmp.Compare(c.row, row) })
	return ok
}

// allBelow reports whether the scores of all marked rows are below worst, even if each cosine
// exceeds its estimate by margin. allBelow computes scores in float32, many at a time, and allows
// for their rounding errors. It may report false although all scores are below worst.
func (s *search[T]) allBelow(p *scanner, x *Query, to *shift, products []float32, margin, worst float64) bool {
	n := p.hi - p.lo
	share, add, slack := 0.0, 0.0, 0.0
	switch {
	case to != nil:
		// float32 represents these numbers with too few digits or not at all.
		if to.size > 0x1p60 || p.longest > 0x1p60 || x.norm > 0x1p60 || !(to.norm > 0) || !(x.norm > 0) || p.longest*to.norm < 0x1p-100 ||
			x.by != InnerProduct && p.longest < 0x1p-60 || x.by == SquaredDistance && x.exponent != 0 {
			return false
		}
		share, add = to.t, to.product
		slack = math.Abs(to.product) + p.longest*(8*math.Abs(to.t)*to.size+4*x.norm+2*margin*to.norm)
	case x.by == SquaredDistance:
		if p.longest > 0x1p60 || p.longest < 0x1p-60 || x.norm > 0x1p60 || x.exponent != 0 {
			return false
		}
	default: // the largest product and the largest factor may be enough
		peak := max(float64(vecmath.Peak(products)), 0) * p.factor
		if x.by == Cosine {
			peak += margin
		} else {
			peak += margin * p.longest
		}
		if peak*(1+0x1p-20) < worst {
			return true
		}
	}
	scores := p.scores[:n]
	copy(scores, products)
	vecmath.Multiply(scores, p.factors[:n])
	if to != nil {
		vecmath.Scale(scores, float32(x.norm))
		vecmath.AddScaled(scores, p.b.numbers[codedProducts][p.lo:p.hi], float32(-to.t))
		vecmath.AddScaled(scores, p.b.numbers[norms][p.lo:p.hi], float32(margin*to.norm))
	} else if margin > 0 && x.by != Cosine {
		vecmath.AddScaled(scores, p.b.numbers[norms][p.lo:p.hi], float32(margin))
	}
	if x.by == SquaredDistance {
		slack += 2 * p.longest * p.longest
		factor := 2.0
		if to == nil {
			factor = 2 * x.norm
		} else {
			share, add = -2*to.short, -to.distance
			slack = 2*slack + to.distance + 8*math.Abs(to.short)*to.size*p.longest
		}
		vecmath.Scale(scores, float32(factor))
		vecmath.AddScaled(scores, p.squares[:n], -1)
	}
	if to != nil {
		vecmath.AddScaled(scores, p.b.numbers[centreProducts][p.lo:p.hi], float32(share))
	}
	if !p.allSelected {
		p.hide(scores)
	}
	peak := float64(vecmath.Peak(scores))
	slack += math.Abs(peak)
	switch {
	case to != nil && x.by == Cosine:
		norm := p.largestNorm
		if worst > 0 {
			norm = p.smallestNorm
		}
		worst *= norm * x.norm
	case to == nil && x.by == Cosine:
		peak += margin
		slack += margin
	}
	return peak+add+0x1p-20*slack < worst
}
