package quantise

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// score returns the number that ranks a row, from the estimate of the cosine. With centres the
// score is the estimate of the measure, negative for a distance. Without centres the score does not
// contain the norm of the query.
func (x *Query) score(s *shift, n *numbers, cosine float64) float64 {
	norm := n.norm
	switch {
	case s != nil && x.by == SquaredDistance:
		return -x.centredValue(s, n, cosine)
	case s != nil:
		return x.centredValue(s, n, cosine)
	case x.by == InnerProduct:
		return norm * cosine
	case x.by == SquaredDistance:
		return norm * (float64(2*x.norm*cosine) - norm)
	case norm == 0:
		return 0
	}
	return cosine
}

// upperScore bounds the score of a row of a cosine, with rounding errors of norms.
func (x *Query) upperScore(s *shift, n *numbers, cosine float64) float64 {
	score := x.score(s, n, cosine)
	if s != nil {
		return score + x.roundingBound(s, n) + float64(sumRoundings*math.Abs(score))
	}
	if x.by == SquaredDistance {
		score += float64(roundings * n.norm * n.norm)
	}
	return score
}

func (x *Query) roundingBound(s *shift, n *numbers) float64 {
	norm := n.norm
	switch x.by {
	case SquaredDistance:
		return roundings * (float64(norm*norm) + math.Abs(2*s.short*n.centreProduct) + float64(norm*s.norm))
	case Cosine:
		whole := s.fullNorm(norm, n.centreProduct)
		short := s.normError(n, whole)
		if short > unknown {
			return math.Inf(1)
		}
		if whole *= s.queryNorm; !(whole > 0) {
			return 0 // the cosine of a zero row or of a zero query is 0
		}
		return 2*short + roundings*(1+(float64(norm*s.norm)+math.Abs(s.t*n.centreProduct)+math.Abs(s.product))/whole)
	}
	return roundings * (float64(norm*s.norm) + math.Abs(s.t*n.centreProduct))
}

// roundings bounds the relative rounding errors of cosines and squared norms.
const roundings = 0x1p-20

// sumRoundings bounds the relative rounding errors of sums in float64.
const sumRoundings = 0x1p-40

// upperCosine returns the largest cosine ρ whose estimate is too small by at most c·√(1−ρ²), or by
// c with several bands, whose errors do not decrease with ρ.
func (r *rounded) upperCosine(estimate, c float64) float64 {
	c += roundings
	switch {
	case r.several:
		return max(-1, min(estimate+c, 1))
	case estimate >= 1:
		return 1
	}
	square := 1 + float64(c*c)
	return max(-1, min((estimate+float64(c*math.Sqrt(max(0, square-float64(estimate*estimate)))))/square, 1))
}

// withRoundings returns a bound of a cosine that also bounds products with rounded norms. The
// result of upperCosine does so unless it is near 1.
func withRoundings(bound float64) float64 {
	if bound > 1-0x1p-10 {
		bound += roundings
	}
	return bound
}

// errorBound returns z standard errors of the estimate of a cosine of 0, from a code with variance
// = ‖s‖²/(sᵀu)² − 1, and z standard errors of the rounding of the query. With centres, rotations
// and products have rounding errors relative to s.terms. bias is a bound of the bias.
func (x *Query) errorBound(s *shift, z, variance, bias float64) (law, rounding float64) {
	norm, one := x.norm, x.roundedOf(s)
	if s != nil {
		norm = s.norm
	}
	if norm == 0 {
		return 0, 0
	}
	// no rounding error is larger than half a step
	rounding = math.Sqrt(3) * one.rounding * x.relative(s)
	if s != nil {
		rounding += 0x1p-21 * s.terms / (norm * math.Sqrt(x.out))
	}
	return float64(z * math.Sqrt(variance/one.dimensions)), float64(z*rounding*math.Sqrt(1+variance)) + bias
}

func (s *search[T]) offer(p *scanner, x *ranking, products []float32) {
	if x.k == 0 {
		return
	}
	best, to := p.best[x.index], s.q.shiftOf(x.Query, p.cluster)
	worst := math.Float64frombits(x.worst.Load())
	if len(best) >= x.k {
		worst = max(worst, best[x.k-1].score)
	}
	limit, some := s.screen(p, x.Query, to, products, 0, worst)
	if !some {
		return
	}
	for i := p.next(0, limit); i < p.hi-p.lo; i = p.next(i+1, limit) {
		n := p.b.numbersAt(p.lo + i)
		score := x.score(to, &n, x.cosine(to, products[i], &n))
		if score < worst {
			continue
		}
		id := p.b.id(p.lo + i)
		c := scoredRow{score, id, products[i]}
		if len(best) >= x.k && c.worse(best[x.k-1]) || !s.accepts(id) {
			continue
		}
		if best = keep(best, c, x.k); len(best) >= x.k {
			worst = max(worst, best[x.k-1].score)
		}
	}
	p.best[x.index] = best
}

func (s *search[T]) offerPossible(p *scanner, x *ranking, products []float32) {
	to := s.q.shiftOf(x.Query, p.cluster)
	if math.IsInf(x.least.score, 1) {
		return
	}
	one := x.roundedOf(to)
	most, rounding := x.errorBound(to, x.zExact, p.variance, one.bias*p.bias)
	limit, some := s.screen(p, x.Query, to, products, most+rounding+2*roundings, x.least.score)
	if !some {
		return
	}
	for i := p.next(0, limit); i < p.hi-p.lo; i = p.next(i+1, limit) {
		n := p.b.numbersAt(p.lo + i)
		law, rounding := x.errorBound(to, x.zExact, x.varianceOf(&n)+0x1p-22, one.biasOf(n.ratio))
		high := withRoundings(one.upperCosine(x.cosine(to, products[i], &n)+rounding, law))
		id := p.b.id(p.lo + i)
		c := scoredRow{score: x.upperScore(to, &n, high), row: id}
		if !c.worse(x.least) && !x.found(c.row) && s.accepts(id) {
			p.possible[x.index] = append(p.possible[x.index], c)
		}
	}
}

func (p *scanner) next(i int, limit float32) int {
	scores := p.scores[:p.hi-p.lo]
	for ; i < len(scores); i++ {
		for i+4 < len(scores) && scores[i] < limit && scores[i+1] < limit && scores[i+2] < limit && scores[i+3] < limit {
			i += 4
		}
		if !(scores[i] < limit) && p.selected[i/64]>>(i%64)&1 == 1 {
			break
		}
	}
	return i
}

func (x *ranking) found(row int) bool {
	_, ok := slices.BinarySearchFunc(x.best, row, func(c scoredRow, row int) int { return cmp.Compare(c.row, row) })
	return ok
}

// screen computes the scores of a chunk in float32, many at a time, for p.scores, and returns a
// limit. The scores of rows below the limit are below worst, even if each cosine exceeds its
// estimate by margin. The limit allows for rounding errors. screen reports whether other rows may
// exist.
func (s *search[T]) screen(p *scanner, x *Query, to *shift, products []float32, margin, worst float64) (limit float32, some bool) {
	n, none := p.hi-p.lo, float32(math.Inf(-1))
	if p.few {
		return none, true
	}
	distance := x.by == SquaredDistance
	norm, factor, share, add, slack := 1.0, 2*x.norm, 0.0, 0.0, 2*p.longest*p.longest
	switch {
	case to != nil:
		// float32 represents these numbers with too few digits or not at all.
		if to.size > 0x1p60 || p.longest > 0x1p60 || x.norm > 0x1p60 || !(to.norm > 0) || !(x.norm > 0) || p.longest*to.norm < 0x1p-100 ||
			x.by != InnerProduct && p.longest < 0x1p-60 {
			return none, true
		}
		norm, factor = to.norm, 2
		terms := p.longest * (4*to.terms + 2*margin*to.norm)
		if distance {
			share, add, slack = -2*to.short, -to.distance, 2*(slack+terms)+to.distance+8*math.Abs(to.short)*to.size*p.longest
		} else {
			share, add, slack = to.t, to.product, terms+math.Abs(to.product)+4*math.Abs(to.t)*to.size*p.longest
		}
		if x.by == Cosine {
			whole := p.largestNorm
			if worst > 0 {
				whole = p.smallestNorm
			}
			worst *= whole * to.queryNorm
		}
	case distance:
		if p.longest > 0x1p60 || p.longest < 0x1p-60 || x.norm > 0x1p60 {
			return none, true
		}
	case x.by == Cosine:
		worst, margin, slack = worst-margin, 0, margin
	default:
		slack = 0
	}
	worst -= add
	if to == nil && !distance { // the largest product and the largest factor may be enough
		high := max(float64(vecmath.Peak(products)), 0)*p.factor + margin*p.longest
		if high < worst-0x1p-20*(slack+high+2*math.Abs(worst)) {
			return none, false
		}
	}
	scores := p.scores[:n]
	copy(scores, products)
	vecmath.Multiply(scores, p.factors[:n])
	switch {
	case to != nil && !to.far:
		vecmath.Scale(scores, float32(x.norm))
		vecmath.AddScaled(scores, p.b.numbers[codedProducts][p.lo:p.hi], float32(-to.t))
	case to != nil:
		vecmath.Scale(scores, float32(norm))
	}
	if margin > 0 {
		vecmath.AddScaled(scores, p.b.numbers[norms][p.lo:p.hi], float32(margin*norm))
	}
	if distance {
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
	least := worst - 0x1p-20*(slack+math.Abs(peak)+2*math.Abs(worst))
	return float32(least), !(peak < least)
}
