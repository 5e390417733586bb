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

// query is one of the queries of a search.
type query[T dense.Float] struct {
	scaling
	norm  float64 // of the scaled query, NaN if it is not finite
	index int     // among the queries of the search

	unit     []float32 // the rotated query over its norm
	arranged []float32 // unit as package scan takes it, if levels have no unit
	// If levels have a unit, or rows are split: the unit vector as multiples of a step is in place at of
	// the digits of the search, and scale is the product of that step with the unit.
	at    int
	scale float32
	slack float64 // how much larger a product of split rows may be
	// For codes of 1 bit: the unit vector as multiples of step, and their sum.
	planes []uint64
	step   float64
	sum    float64

	k     int // rows wanted
	mu    sync.Mutex
	best  []candidate   // the heap of the best rows, the worst first
	worst atomic.Uint64 // bits of the score of the worst of k, −Inf before

	// If exact rows are read: the heap of the best k by exact values, the score of the worst of them, the
	// rows that may be above that with upper bounds of their scores, the length of what rounding left
	// of the unit vector, and the standard errors of a bound.
	exact []candidate
	least float64
	reach []candidate
	rest  float64
	z     float64

	// With centres, or if it is scaled: the query. With centres: the query rotated, the clusters it looks at
	// (none means all), memory for the choice, and what a query about a centre needs of that.
	vector, rotated []T
	some            []bool
	chosen          []candidate
	sight[T]
}

// desk is memory for queries as package scan takes them.
type desk struct {
	digits  []uint64 // of all queries
	whole   []int16
	weights []int8
	bits    []uint8
	row     []uint64
	split   bool // rows are split for products with many queries
}

// prepare makes query i, for the best k rows.
func (s *search[T]) prepare(i int, from []T, wanted int) {
	q := s.q
	n := q.elements()
	if i == len(s.kept) {
		s.kept = append(s.kept, new(query[T]))
	}
	s.queries = s.kept[:i+1]
	x := s.kept[i]
	x.k, x.best, x.reach = wanted, x.best[:0], x.reach[:0]
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
		x.z = deviations(s.options.Miss / float64(max(wanted, 1)))
	}
	if q.centres != nil {
		x.vector = append(x.vector[:0], from...)
		s.choose(x)
		return
	}
	q.round(&s.desk, x, i)
	x.rest = 0
	if s.options.Rows != nil {
		x.rest = q.remainder(&s.desk, x)
	}
}

// round makes query i of those on a desk from the rotated query.
func (q *quantiser[T]) round(s *desk, x *query[T], i int) {
	n := q.elements()
	x.unit = scratch.Resize(x.unit, n)
	for i, v := range x.rotated {
		x.unit[i] = 0
		if x.norm > 0 {
			x.unit[i] = float32(float64(v) / x.norm)
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
		scan.Arrange(x.arranged, x.unit, q.words, q.width)
	}
}

// multiples writes the digits of query i.
func (q *quantiser[T]) multiples(s *desk, x *query[T], i int) {
	n, size := len(x.unit), q.digitWords()
	x.at = i * size
	if need := x.at + size; need > len(s.digits) {
		s.digits = append(s.digits, make([]uint64, need-len(s.digits))...)
	}
	s.whole = scratch.Resize(s.whole, n)
	if q.width == 1 {
		for i, w := range s.weights {
			s.whole[i] = int16(w)
		}
	} else {
		step, unit := scan.Round(s.whole, x.unit), q.unit
		if unit == 0 {
			unit = float64(q.levels[1<<(q.width-1)])
			// What Round leaves, and what sums of float32 and the rounding of levels add at most.
			rest := math.Sqrt(float64(n)) * step / 2
			x.slack = unit * float64(int(1)<<q.width) * math.Sqrt(float64(n)) * (rest + float64(n+16)*0x1p-23)
		}
		x.scale = float32(unit * step)
	}
	scan.Digits(s.digits[x.at:][:size], s.whole, q.words, q.width)
}

// remainder returns the length of what rounding left of the unit vector.
func (q *quantiser[T]) remainder(s *desk, x *query[T]) float64 {
	sum := 0.0
	for i, v := range x.unit {
		rest := 0.0
		switch {
		case q.width == 1:
			rest = float64(v) - float64(x.step*float64(s.weights[i]))
		case q.unit > 0:
			rest = float64(v) - float64(float64(x.scale)/q.unit*float64(s.whole[i]))
		}
		sum += float64(rest * rest)
	}
	return math.Sqrt(sum)
}

// slice rounds a query for codes of 1 bit.
func (q *quantiser[T]) slice(s *desk, x *query[T]) {
	n, words := len(x.unit), q.words
	x.step = largest(x.unit) / scan.MaxWeight
	s.weights, s.bits = scratch.Resize(s.weights, n), scratch.Resize(s.bits, n)
	x.planes, s.row = scratch.Resize(x.planes, scan.PlaneWords(words)), scratch.Resize(s.row, words)
	sum := 0
	for i, v := range x.unit {
		s.weights[i] = 0
		if x.step > 0 {
			s.weights[i] = int8(math.RoundToEven(float64(v) / x.step))
		}
		sum += int(s.weights[i])
	}
	x.sum = float64(sum)
	scan.Slice(x.planes, s.weights, s.bits, s.row)
}
