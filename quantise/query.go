package quantise

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// query is a query q of a search, or a shifted query q − tc for rows x of a centre c. Then
//
//	xᵀq      = product + t·(x−c)ᵀc + (x−c)ᵀ(q − tc)
//	‖x − q‖² = ‖x−c‖² + distance + 2·short·(x−c)ᵀc − 2·(x−c)ᵀ(q − tc)
type query[T dense.Float] struct {
	// q is divided by 2^exponent before its rotation, so that the sum of its squares neither
	// overflows nor loses digits. exponent is 0 if the largest coordinate of q is between 2⁻¹⁰¹ and
	// 2¹⁰⁰. Inner products are proportional to the divided query, and cosines do not change. Squared
	// distances are ‖q‖² − (2xᵀq − ‖x‖²), and 2xᵀq − ‖x‖² ranks the rows.
	exponent int
	square   float64 // ‖q‖², which may be +Inf
	// up multiplies xᵀq of the divided query, and down multiplies ‖x‖². The products have the ratio
	// of xᵀq and ‖x‖² and do not overflow. One of the factors is 1.
	up, down float64

	norm  float64 // the norm of the divided query, NaN if it is not finite
	index int     // the index in search.queries

	direction []float32 // the rotated query divided by its norm
	// queryBatch.digits[at:] holds direction as integer multiples of a step, and scale is the product
	// of step and unit. For codes of 1 bit the multiples have 8 bits, and queryBatch.lower[at:] holds
	// what is left as multiples of step/256.
	at    int
	scale float32

	k     int // number of rows to find
	mu    sync.Mutex
	best  []candidate   // the heap of the best rows, the worst first
	worst atomic.Uint64 // float64 bits of the score of the worst of k rows, −Inf for fewer rows

	// With SearchOptions.Rows:
	exact        []candidate // the heap of the best k rows by exact values
	least        float64     // the score of the worst row in exact
	possible     []candidate // rows outside best whose upper bounds exceed least; their scores are the bounds
	roundingNorm float64     // the norm of the rounding error of direction
	z            float64     // the number of standard errors of an upper bound

	vector   []T    // q, with centres or if exponent is not 0
	rotated  []T    // the rotated query
	clusters []bool // the clusters to scan; none means all
	chosen   []candidate

	original          *query[T]  // q of a shifted query, or the query itself
	centre            *centre[T] // c of a shifted query
	t, short          float64    // qᵀc/‖c‖², which makes q − tc shortest, and 1 − t
	product, distance float64    // qᵀc and ‖q − c‖²
}

// queryBatch is the queries of a search, or the queries q − tc for one centre c, and the working
// memory that rounds them to integers.
type queryBatch[T dense.Float] struct {
	queries, kept []*query[T] // queries is a prefix of kept, whose memory later batches use

	digits, lower   []uint64 // of all queries, one after the other, in the order of package scan
	integers, lefts []int16
}

// addQuery adds a query without content.
func (b *queryBatch[T]) addQuery() *query[T] {
	n := len(b.queries)
	if n == len(b.kept) {
		b.kept = append(b.kept, new(query[T]))
	}
	b.queries = b.kept[:n+1]
	return b.kept[n]
}

// reset removes all queries.
func (b *queryBatch[T]) reset() { b.queries, b.digits, b.lower = b.kept[:0], b.digits[:0], b.lower[:0] }

// prepare adds a query to a search of the best wanted rows.
func (s *search[T]) prepare(from []T, wanted int) {
	q := s.q
	n := q.elements
	x := s.addQuery()
	x.k, x.best, x.possible = wanted, x.best[:0], x.possible[:0]
	x.worst.Store(math.Float64bits(math.Inf(-1)))

	x.original, x.index = x, len(s.queries)-1
	from = x.divided(from)
	x.rotated = scratch.Resize(x.rotated, n)
	for k, r := range q.rotations {
		r.Apply(dense.Of(1, q.out, x.rotated[k*q.out:][:q.out]), dense.Of(1, q.in, from))
	}
	x.norm = math.Sqrt(2 * vecmath.HalfSquaredNorm(x.rotated[:q.out]))
	if math.IsInf(x.norm, 1) {
		x.norm = math.NaN()
	}
	if s.options.Rows != nil {
		x.z = normalQuantile(s.options.MissProbability / float64(max(wanted, 1)))
	}
	if q.centres != nil {
		x.vector = append(x.vector[:0], from...)
		s.chooseCentres(x)
		return
	}
	q.round(&s.queryBatch, x)
	x.roundingNorm = 0
	if s.options.Rows != nil {
		x.roundingNorm = q.remainder(&s.queryBatch, x)
	}
}

// normalQuantile returns a z ≥ √3 such that the error of an estimate exceeds z standard errors with
// at most the given probability. The error of a code has a uniformly random direction in R^(d'−1).
// For z ≥ √3 a coordinate of such a direction, in units of its standard deviation, exceeds z with
// at most the probability of a normal variate.
func normalQuantile(tail float64) float64 {
	return max(math.Sqrt2*math.Erfcinv(2*tail), math.Sqrt(3))
}

// round rounds the rotated query x, the last of a batch.
func (q *quantiser[T]) round(b *queryBatch[T], x *query[T]) {
	x.direction, b.integers = scratch.Resize(x.direction, q.elements), scratch.Resize(b.integers, q.elements)
	for i, v := range x.rotated {
		x.direction[i] = 0
		if x.norm > 0 {
			x.direction[i] = float32(float64(v) / x.norm)
		}
	}
	x.scale = float32(q.unit * scan.Round(b.integers, x.direction))
	x.at = len(b.digits)
	if q.width == 1 {
		x.scale *= 256
		b.lefts = scratch.Resize(b.lefts, q.elements)
		for i, v := range b.integers {
			b.lefts[i] = int16(int8(v))
			b.integers[i] = (v - b.lefts[i]) >> 8
		}
		b.lower = q.appendDigits(b.lower, b.lefts)
	}
	b.digits = q.appendDigits(b.digits, b.integers)
}

func (q *quantiser[T]) appendDigits(digits []uint64, x []int16) []uint64 {
	at, size := len(digits), q.digitWords()
	digits = slices.Grow(digits, size)[:at+size]
	scan.Digits(digits[at:], x, q.words, q.width)
	return digits
}

// remainder returns the norm of the rounding error of x.direction.
func (q *quantiser[T]) remainder(b *queryBatch[T], x *query[T]) float64 {
	sum := 0.0
	for i, v := range x.direction {
		rest := float64(v) - float64(float64(x.scale)/q.unit*float64(b.integers[i]))
		sum += float64(rest * rest)
	}
	return math.Sqrt(sum)
}

// divided sets exponent and returns the divided query.
func (x *query[T]) divided(query []T) []T {
	x.exponent, x.square, x.up, x.down = 0, 0, 1, 1
	peak := scan.Magnitude(query)
	_, e := math.Frexp(peak)
	if peak-peak != 0 || e >= -100 && e <= 100 {
		return query
	}
	x.vector = scratch.Resize(x.vector, len(query))
	for i, v := range query {
		x.vector[i] = T(math.Ldexp(float64(v), -e))
	}
	x.exponent, x.square = e, math.Ldexp(2*vecmath.HalfSquaredNorm(x.vector), 2*e)
	x.up, x.down = math.Ldexp(1, min(e, 0)), math.Ldexp(1, min(-e, 0))
	return x.vector
}

// row returns query i of queries, divided by the power of two.
func (x *query[T]) row(queries dense.Matrix[T], i int) []T {
	if x.exponent != 0 {
		return x.vector
	}
	return queries.Row(i)
}

// shift adds the query q − tc for the centre c of a cluster.
func (s *search[T]) shift(b *queryBatch[T], of *query[T], cluster int) *query[T] {
	x, c := b.addQuery(), &s.q.centres[cluster]
	x.original, x.index, x.centre, x.z, x.k = of, of.index, c, of.z, of.k
	x.exponent, x.square, x.up, x.down = of.exponent, of.square, of.up, of.down
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
	s.q.round(b, x)
	x.roundingNorm = 0
	if s.options.Rows != nil {
		// The rounding errors of rotations are relative to ‖q‖ and ‖tc‖, which may exceed ‖q − tc‖.
		x.roundingNorm = s.q.remainder(b, x) + unitOf[T]()*(of.norm+float64(math.Abs(x.t)*math.Sqrt(c.square)))/x.norm
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
// no centres. The next call of shiftedFor overwrites the shifted query.
func (s *search[T]) shiftedFor(x *query[T], cluster int) (*query[T], *queryBatch[T]) {
	if s.q.centres == nil {
		return x, &s.queryBatch
	}
	b := &s.last
	if len(b.queries) == 0 || b.queries[0].original != x || b.queries[0].centre != &s.q.centres[cluster] {
		b.reset()
		s.shift(b, x, cluster)
	}
	return b.queries[0], b
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
