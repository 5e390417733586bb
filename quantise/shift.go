package quantise

import (
	"math"
	"slices"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// shiftedQueries are the queries q − tc for one centre c. queries is a prefix of kept, whose memory
// later centres use.
type shiftedQueries[T dense.Float] struct {
	roundedQueries
	queries, kept []*query[T]
}

// reset removes all queries.
func (a *shiftedQueries[T]) reset() { a.queries = a.kept[:0] }

// shift adds the query q − tc for the centre c of a cluster.
func (s *search[T]) shift(a *shiftedQueries[T], of *query[T], cluster int) *query[T] {
	n := len(a.queries)
	if n == len(a.kept) {
		a.kept = append(a.kept, new(query[T]))
	}
	a.queries = a.kept[:n+1]
	x, c := a.kept[n], &s.q.centres[cluster]
	x.of, x.index, x.centre, x.z, x.k, x.scaling = of, of.index, c, of.z, of.k, of.scaling
	x.t, x.short = c.share(of.vector)
	x.product, x.distance = float64(x.t*c.square), squaredDistance(of.vector, c.vector)
	if of.norm != of.norm {
		x.norm = of.norm
		return x
	}
	d := s.q.out
	x.rotated = scratch.Resize(x.rotated, len(of.rotated))
	for i, v := range of.rotated {
		x.rotated[i] = T(float64(v) - float64(x.t*float64(c.rotated[i])))
	}
	x.norm = math.Sqrt(2 * vecmath.HalfSquaredNorm(x.rotated[:d]))
	s.q.round(&a.roundedQueries, x, n)
	x.roundingNorm = 0
	if s.options.Rows != nil {
		// The rounding errors of rotations are relative to ‖q‖ and ‖tc‖, which may exceed ‖q − tc‖.
		x.roundingNorm = s.q.remainder(&a.roundedQueries, x) + unitOf[T]()*(of.norm+float64(math.Abs(x.t)*math.Sqrt(c.square)))/x.norm
	}
	return x
}

// unitOf bounds the relative rounding error of a rotation.
func unitOf[T dense.Float]() float64 {
	if unsafe.Sizeof(T(0)) == 4 {
		return 0x1p-21
	}
	return 0x1p-50
}

// chooseCentres sets x.clusters to the SearchOptions.Centres centres nearest to the query and the
// origin.
func (s *search[T]) chooseCentres(x *query[T]) {
	wanted := s.options.Centres
	x.clusters = x.clusters[:0]
	if wanted == 0 || wanted >= len(s.q.centres)-1 {
		return
	}
	x.chosen = x.chosen[:0]
	for i := 1; i < len(s.q.centres); i++ {
		c := &s.q.centres[i]
		product := 0.0
		for j, v := range c.vector {
			product += float64(float64(v) * float64(x.vector[j]))
		}
		switch {
		case s.by == SquaredDistance:
			product = float64(2*product*x.up) - float64(c.square*x.down)
		case s.by == Cosine && c.square > 0:
			product /= math.Sqrt(c.square)
		}
		x.chosen = keep(x.chosen, candidate{product, i}, wanted)
	}
	x.clusters = append(x.clusters, make([]bool, len(s.q.centres))...)
	x.clusters[0] = true
	for _, c := range x.chosen {
		x.clusters[c.row] = true
	}
}

// scans reports whether the query scans a cluster.
func (x *query[T]) scans(cluster int) bool { return len(x.clusters) == 0 || x.clusters[cluster] }

// shiftedFor returns the shifted query for the rows of a cluster, or x itself if the quantiser has
// no centres. The next call overwrites the shifted query.
func (s *search[T]) shiftedFor(x *query[T], cluster int) (*query[T], *roundedQueries) {
	if s.q.centres == nil {
		return x, &s.roundedQueries
	}
	a := &s.last
	if len(a.queries) == 0 || a.queries[0].of != x || a.queries[0].centre != &s.q.centres[cluster] {
		a.reset()
		s.shift(a, x, cluster)
	}
	return a.queries[0], &a.roundedQueries
}

// byCentre sorts candidates by centre, so that shiftedFor shifts the query once per centre.
func (s *search[T]) byCentre(some []candidate) {
	if s.q.centres == nil {
		return
	}
	slices.SortFunc(some, func(a, b candidate) int {
		i, k := s.locate(a.row)
		j, l := s.locate(b.row)
		return s.segments[i].rows.label(k) - s.segments[j].rows.label(l)
	})
}

// centredValue returns the estimate of a measure for a row x from norm = ‖x−c‖, centreProduct =
// (x−c)ᵀc and the estimate of the cosine of x − c and q − tc.
func (x *query[T]) centredValue(by Measure, norm, centreProduct, cosine float64) float64 {
	if x.of.norm != x.of.norm {
		return x.of.norm
	}
	product := 0.0
	if norm > 0 && x.norm > 0 {
		product = float64(norm * x.norm * cosine)
	}
	switch by {
	case SquaredDistance:
		return float64(norm*norm) + x.distance + float64(2*x.short*centreProduct) - 2*product
	case Cosine:
		whole := x.fullNorm(norm, centreProduct) * x.of.norm
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

// roundingBound bounds the rounding error of centredValue.
func (x *query[T]) roundingBound(by Measure, norm, centreProduct float64) float64 {
	switch by {
	case SquaredDistance:
		if x.exponent != 0 {
			size := norm + math.Sqrt(x.centre.square)
			return roundings * size * (float64(size*x.down) + float64(2*x.of.norm*x.up))
		}
		return roundings * (float64(norm*norm) + math.Abs(2*x.short*centreProduct) + float64(norm*x.norm))
	case Cosine:
		whole := x.fullNorm(norm, centreProduct) * x.of.norm
		if whole == 0 {
			return 0
		}
		return roundings * (1 + (float64(norm*x.norm)+math.Abs(x.t*centreProduct)+math.Abs(x.product))/whole)
	}
	return roundings * (float64(norm*x.norm) + math.Abs(x.t*centreProduct))
}
