package quantise

import (
	"math"
	"sync"
	"sync/atomic"

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
	scaling
	norm  float64 // the norm of the scaled query, NaN if it is not finite
	index int     // the index in search.queries

	direction []float32 // the rotated query divided by its norm
	arranged  []float32 // direction in the order of package scan, for levels without a unit
	// If levels have a unit or split is set, roundedQueries.digits[at:] holds direction as
	// integer multiples of a step, and scale is the product of step and unit.
	at    int
	scale float32
	slack float64 // a bound of the rounding error of a product with a row unpacked to 4 bits
	// For codes of 1 bit: the bit planes of direction as integer multiples of step, and their sum.
	planes []uint64
	step   float64
	sum    float64

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

	vector   []T    // q, with centres or if the query is scaled
	rotated  []T    // the rotated query
	clusters []bool // the clusters to scan; none means all
	chosen   []candidate

	of                *query[T]  // q of a shifted query, or the query itself
	centre            *centre[T] // c of a shifted query
	t, short          float64    // qᵀc/‖c‖², which makes q − tc shortest, and 1 − t
	product, distance float64    // qᵀc and ‖q − c‖²
}

// roundedQueries are queries rounded to integers, in the order of package scan, and the working
// memory of the rounding.
type roundedQueries struct {
	digits   []uint64 // of all queries, one after the other
	integers []int16
	weights  []int8
	bits     []uint8
	row      []uint64
	split    bool // codes of rows are unpacked to 4 bits
}

// prepare makes query i, for a search of the best wanted rows.
func (s *search[T]) prepare(i int, from []T, wanted int) {
	q := s.q
	n := q.elements()
	if i == len(s.kept) {
		s.kept = append(s.kept, new(query[T]))
	}
	s.queries = s.kept[:i+1]
	x := s.kept[i]
	x.k, x.best, x.possible = wanted, x.best[:0], x.possible[:0]
	x.worst.Store(math.Float64bits(math.Inf(-1)))

	x.of, x.index = x, i
	from = x.scaled(from)
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
	q.round(&s.roundedQueries, x, i)
	x.roundingNorm = 0
	if s.options.Rows != nil {
		x.roundingNorm = q.remainder(&s.roundedQueries, x)
	}
}

// round rounds the rotated query and stores its integers as query i of s.
func (q *quantiser[T]) round(s *roundedQueries, x *query[T], i int) {
	n := q.elements()
	x.direction = scratch.Resize(x.direction, n)
	for i, v := range x.rotated {
		x.direction[i] = 0
		if x.norm > 0 {
			x.direction[i] = float32(float64(v) / x.norm)
		}
	}
	x.slack = 0
	if q.width == 1 {
		q.slice(s, x)
	}
	if q.unit > 0 || s.split {
		q.multiples(s, x, i)
	}
	if q.unit == 0 {
		x.arranged = scratch.Resize(x.arranged, scan.Arranged(q.words, q.width))
		scan.Arrange(x.arranged, x.direction, q.words, q.width)
	}
}

// multiples rounds direction to integer multiples of a step and writes the digits of query i.
func (q *quantiser[T]) multiples(s *roundedQueries, x *query[T], i int) {
	n, size := len(x.direction), q.digitWords()
	x.at = i * size
	if need := x.at + size; need > len(s.digits) {
		s.digits = append(s.digits, make([]uint64, need-len(s.digits))...)
	}
	s.integers = scratch.Resize(s.integers, n)
	if q.width == 1 {
		for i, w := range s.weights {
			s.integers[i] = int16(w)
		}
	} else {
		step, unit := scan.Round(s.integers, x.direction), q.unit
		if unit == 0 {
			unit = float64(q.levels[1<<(q.width-1)])
			// This bounds the errors of Round, of sums in float32 and of rounded levels.
			rest := math.Sqrt(float64(n)) * step / 2
			x.slack = unit * float64(int(1)<<q.width) * math.Sqrt(float64(n)) * (rest + float64(n+16)*0x1p-23)
		}
		x.scale = float32(unit * step)
	}
	scan.Digits(s.digits[x.at:][:size], s.integers, q.words, q.width)
}

// remainder returns the norm of the rounding error of x.direction.
func (q *quantiser[T]) remainder(s *roundedQueries, x *query[T]) float64 {
	sum := 0.0
	for i, v := range x.direction {
		rest := 0.0
		switch {
		case q.width == 1:
			rest = float64(v) - float64(x.step*float64(s.weights[i]))
		case q.unit > 0:
			rest = float64(v) - float64(float64(x.scale)/q.unit*float64(s.integers[i]))
		}
		sum += float64(rest * rest)
	}
	return math.Sqrt(sum)
}

// slice rounds a query to 6 bits for codes of 1 bit.
func (q *quantiser[T]) slice(s *roundedQueries, x *query[T]) {
	n, words := len(x.direction), q.words
	x.step = largest(x.direction) / scan.MaxWeight
	s.weights, s.bits = scratch.Resize(s.weights, n), scratch.Resize(s.bits, n)
	x.planes, s.row = scratch.Resize(x.planes, scan.PlaneWords(words)), scratch.Resize(s.row, words)
	sum := 0
	for i, v := range x.direction {
		s.weights[i] = 0
		if x.step > 0 {
			s.weights[i] = int8(math.RoundToEven(float64(v) / x.step))
		}
		sum += int(s.weights[i])
	}
	x.sum = float64(sum)
	scan.Slice(x.planes, s.weights, s.bits, s.row)
}
