package quantise

import (
	"math"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// shift is the query q − tc for the rows x of a centre c. Then
//
//	xᵀq      = product + t·(x−c)ᵀc + (x−c)ᵀ(q − tc)
//	‖x − q‖² = ‖x−c‖² + distance + 2·short·(x−c)ᵀc − 2·(x−c)ᵀ(q − tc)
type shift struct {
	ready             atomic.Bool
	t, short          float64 // qᵀc/‖c‖², which makes q − tc shortest, and 1 − t
	product, distance float64 // qᵀc and ‖q − c‖²
	norm              float64 // ‖q − tc‖
	size, square      float64 // ‖c‖ and ‖c‖²
	queryNorm         float64 // ‖q‖; if far, without the rounding of its rotation
	// ‖q‖ + ‖tc‖ or, if far, ‖q − tc‖: rounding errors of products are relative to it
	terms float64

	// far reports whether ‖q − tc‖ is so much smaller than ‖q‖ that the rounding of q would add to
	// the errors of codes, or whether c is the mean of Learn. Then own is q − tc.
	far     bool
	learned bool // c is the mean of Learn
	own     *rounded
}

// Below farShare = ‖q − tc‖/‖q‖, q − tc is rounded by itself: the error of rounding q is 1/5 of the
// error of codes of 1 bit, and 1/20 with 8 bits.
const farShare = 1. / 16

func (q *quantiser[T]) shiftOf(x *Query, cluster int) *shift {
	if q.centres == nil {
		return nil
	}
	s := &x.shifts[cluster]
	if s.ready.Load() {
		return s
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if s.ready.Load() {
		return s
	}
	c, y := &q.centres[cluster], *vectorOf[T](x)
	s.t, s.short = c.share(y)
	s.product, s.distance = float64(s.t*c.square), vecmath.SquaredDistance(y, c.vector)
	s.square, s.size = c.square, math.Sqrt(c.square)
	sum := 0.0
	for i, v := range c.vector {
		rest := float64(y[i]) - float64(s.t*float64(v))
		sum += float64(rest * rest)
	}
	s.norm = math.Sqrt(sum)
	s.queryNorm, s.terms = x.norm, x.norm+float64(math.Abs(s.t)*s.size)
	s.learned = q.mean != nil
	near := s.learned || s.norm < farShare*x.norm
	if near {
		s.queryNorm, s.terms = math.Sqrt(2*vecmath.HalfSquaredNorm(y)), s.norm
	}
	if s.far = near && (s.norm > 0 || s.learned); s.far {
		if s.own == nil {
			s.own = new(rounded)
		}
		p := q.preparers.Get()
		defer q.preparers.Put(p)
		p.shifted = scratch.Resize(p.shifted, q.in)
		fraction, e := math.Frexp(s.norm) // the squares of q − tc might underflow in T
		for i, v := range c.vector {
			p.shifted[i] = T(math.Ldexp(float64(y[i])-float64(s.t*float64(v)), -e))
		}
		q.rotate(p, p.shifted)
		q.round(s.own, fraction, p)
	}
	s.ready.Store(true)
	return s
}

func (x *Query) roundedOf(s *shift) *rounded {
	if s != nil && s.far {
		return s.own
	}
	return &x.rounded
}

func (s *shift) fullNorm(norm, centreProduct float64) float64 {
	return math.Sqrt(max(0, float64(norm*norm)+2*centreProduct+s.square))
}
