package quantise

import (
	"math"
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

// estimate returns the estimate of the measure for a row, with its standard error.
func (s *search[T]) estimate(of *query[T], c code) Estimate {
	x, d := s.shiftedFor(of, c.cluster)
	cosine := s.rowProduct(c.words, x, d) * c.ratio
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

// upperScore returns an upper bound of the score of a cosine, with the rounding errors of norms.
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

// normalQuantile returns a z ≥ √3 such that the error of an estimate exceeds z standard errors with
// at most the given probability. The error of a code has a uniformly random direction in R^(d'−1).
// For z ≥ √3 a coordinate of such a direction, in units of its standard deviation, exceeds z with
// at most the probability of a normal variate.
func normalQuantile(tail float64) float64 {
	return max(math.Sqrt2*math.Erfcinv(2*tail), math.Sqrt(3))
}

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
	if q.width == 8 {
		for i := range scores {
			scores[i] = float32(q.lengthSquare(b.code(lo+i, q.words)))
		}
	} else {
		table, ones := q.squares()
		scan.Levels(scores, b.words[lo*q.words:hi*q.words], table, ones, q.words, q.width)
		vecmath.Multiply(scores, b.ratios[lo:hi])
		vecmath.Multiply(scores, b.ratios[lo:hi])
	}
	// The factors allow for the rounding of sums of d' numbers in float32.
	across := float32(math.Max(0x1p-40, float64(float64(vecmath.Peak(scores))*(1+0x1p-16))-1+0x1p-20))
	if kept != nil {
		kept.Store(math.Float32bits(across))
	}
	return float64(across)
}
