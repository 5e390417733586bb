package performer

import (
	"fmt"
	"math"
	"sort"

	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Shape is what the cost of attention depends on.
type Shape struct {
	Queries, Keys int // Lq and Lk
	Dim, Values   int // d and dv
	Features      int // m features or r landmarks; exact attention has none

	// Projected says that features are functions of m projections, which cost m·d multiply-adds per
	// row. It is false for elu+1 and other maps of coordinates.
	Projected bool

	// Window and Samples are those of a [Corrected] that corrects landmarks.
	Window, Samples int

	// Causal lets query i see the keys j ≤ i only; Queries = Keys then.
	Causal bool

	// ElementSize is the number of bytes of an element, 4 or 8. Zero means 4.
	ElementSize int
}

// Cost is what one call of Forward does, for a form and a shape.
type Cost struct {
	// MACs is the number of multiply-adds of the matrix products.
	MACs float64

	// Exps is the number of exponentials.
	Exps float64

	// Steps is the number of landmarks that are chosen one after another. A step takes longer than
	// its multiply-adds.
	Steps float64

	// Bytes is what passes between the memory of q, k, v and the output and the
	// caches of a processor, when the second cache holds the scratch memory and
	// nothing else.
	Bytes float64
}

// Measured in this package, one processor with 512-bit vectors, d = dv = 64: how
// many multiply-adds take as long as one exponential and what goes with it, the
// maximum, the subtraction, the sum. A multiply-add in float64 takes twice as long as
// in float32, and an exponential a little more than twice. Both take half the time in vectors twice
// as long, so the ratios hold for others too. Nothing is measured at run time: the choice of a form
// changes results, and must be the same on all machines.
const (
	expMACs32 = 50
	expMACs64 = 60
)

// Measured in this package on two processors, d = dv = 64, r = 32 to 1024, with float32: how many
// multiply-adds take as long as a step.
const stepMACs = 2e6

// Exact returns the cost of exact attention:
//
//	MACs = P·(d + dv),  Exps = P,
//
// where P is the number of pairs that see each other, Lq·Lk or ½·L·(L+1). The keys
// and values up to the last that it sees are read for every block of up to 256
// queries; queries are read and outputs written once.
func (s Shape) Exact() Cost {
	s.check()
	lq, lk := float64(s.Queries), float64(s.Keys)
	pairs, reads := lq*lk, math.Ceil(lq/float64(tiles.Queries(s.Queries)))*lk
	if s.Causal {
		pairs = lq * (lq + 1) / 2
		reads = reads/2 + lk/2
	}
	width := float64(s.Dim) + float64(s.Values)
	return Cost{MACs: pairs * width, Exps: pairs, Bytes: (lq + reads) * width * s.size()}
}

// Linear returns the cost of linear attention:
//
//	MACs = (Lq + Lk)·m·(d + dv + 1),  Exps = (Lq + Lk)·m,
//
// without d if the features are not projections. Causal attention adds the pairs in
// chunks of c = 64 tokens, L·c·(m + dv + 1). Everything is read and written once.
func (s Shape) Linear() Cost {
	s.check()
	lq, lk, m, sums := float64(s.Queries), float64(s.Keys), float64(s.Features), float64(s.Values)+1
	perFeature := sums
	if s.Projected {
		perFeature += float64(s.Dim)
	}
	c := Cost{
		MACs:  (lq + lk) * m * perFeature,
		Exps:  (lq + lk) * m,
		Bytes: (lq + lk) * (float64(s.Dim) + float64(s.Values)) * s.size(),
	}
	if s.Causal {
		c.MACs += lq * min(lq, chunkRows) * (m + sums)
	}
	return c
}

// Landmarks returns the cost of attention by r landmarks:
//
//	MACs = (Lq + Lk)·r·(d + dv + 1) + n·r·(d + r/2) + r²·(r/6 + d + dv + 1),
//	Exps = (Lq + Lk)·r + n·r,  Steps = r,
//
// where landmarks are chosen among n = min(Lk, max(1024, 16·r)) keys. Causal attention has given
// landmarks, so that there are neither steps nor the terms with n.
//
// With a window W, or if causal, exact weights for N pairs add N·(d + dv), and products with G⁻¹ for
// every t = max(W, r) keys add r²·(dv + 1) each, two of them unless causal. N is Lq·min(Lk, t + 2·W),
// or L·min(L/2, W + t/2) if causal. S samples add Lq·S·(d + dv), and Lk·r·(r + d) for the
// probabilities. Attention with at most r keys is exact.
func (s Shape) Landmarks() Cost {
	s.check()
	lq, lk, r, sums := float64(s.Queries), float64(s.Keys), float64(s.Features), float64(s.Values)+1
	if s.Keys <= s.Features && !s.Causal {
		return s.Exact()
	}
	d, width := float64(s.Dim), float64(s.Dim)+float64(s.Values)
	c := Cost{
		MACs:  (lq+lk)*r*(d+sums) + r*r*(r/6+d+sums),
		Exps:  (lq + lk) * r,
		Bytes: (lq + lk) * width * s.size(),
	}
	if !s.Causal {
		n := min(lk, max(landmarkPool, poolPerLandmark*r))
		c.MACs += n * r * (d + r/2)
		c.Exps += n * r
		c.Steps = r
	}
	window := float64(s.Window)
	near, t := 0.0, max(window, r, 1)
	switch {
	case s.Causal:
		near = lq * min(lq/2, window+t/2)
		c.MACs += lq / t * r * r * sums
	case s.Window > 0:
		near = lq * min(lk, t+2*window)
		c.MACs += 2 * lk / t * r * r * sums
	}
	if s.Samples > 0 {
		near += lq * float64(s.Samples)
		c.MACs += lk * r * (r + d)
	}
	c.MACs += near * width
	c.Exps += near
	return c
}

// Crossover returns the least number of tokens, Queries = Keys, from which linear attention is
// predicted to be faster than exact attention. Queries and Keys of s do not count; the largest int
// stands for all that are beyond it. The prediction adds up the costs of multiply-adds and
// exponentials. It is rough for lengths of a few dozen tokens, where neither matters.
func Crossover(s Shape) int {
	// The work a token grows without bound in exact attention and, from some length
	// on, does not in linear attention.
	return 1 + sort.Search(math.MaxInt-1, func(i int) bool {
		s.Queries, s.Keys = i+1, i+1
		return s.linearIsFaster()
	})
}

// linearIsFaster reports whether linear attention is predicted to take no more time
// than exact attention.
func (s Shape) linearIsFaster() bool {
	return s.work(s.Linear()) <= s.work(s.Exact())
}

// work returns a cost in multiply-adds, exponentials included.
func (s Shape) work(c Cost) float64 {
	if s.size() == 8 {
		return c.MACs + expMACs64*c.Exps + stepMACs/2*c.Steps
	}
	return c.MACs + expMACs32*c.Exps + stepMACs*c.Steps
}

func (s Shape) size() float64 {
	if s.ElementSize == 0 {
		return 4
	}
	return float64(s.ElementSize)
}

// check panics unless the shape is one.
func (s Shape) check() {
	switch {
	case s.Queries < 0 || s.Keys < 0 || s.Dim < 0 || s.Values < 0 || s.Features < 0 || s.Window < 0 || s.Samples < 0:
		panic(fmt.Sprintf("performer: %+v has a negative dimension", s))
	case s.Causal && s.Queries != s.Keys:
		panic(fmt.Sprintf("performer: %+v is causal, want as many queries as keys", s))
	case s.size() != 4 && s.size() != 8:
		panic(fmt.Sprintf("performer: %+v, want an ElementSize of 4 or 8", s))
	}
}
