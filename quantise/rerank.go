package quantise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// roundings is more than rounding adds to a cosine and to a share of a squared norm.
const roundings = 0x1p-20

// deviations returns the z for which an error of more than z standard errors, in one direction, has
// at most the given probability. The error of a code is in a uniformly random direction of R^(d'−1).
// A coordinate of that, in units of its standard deviation, exceeds z with at most the probability
// of a normal variate if z ≥ √3.
func deviations(tail float64) float64 {
	return max(math.Sqrt2*math.Erfcinv(2*tail), math.Sqrt(3))
}

// highest returns the largest cosine ρ of which the estimate is at most c·√(1−ρ²) too small.
func highest(estimate, c float64) float64 {
	if estimate >= 1 {
		return 1
	}
	c += roundings
	square := 1 + float64(c*c)
	return min((estimate+float64(c*math.Sqrt(max(0, square-float64(estimate*estimate)))))/square, 1)
}

// width returns z standard errors of the estimate of a cosine of 0, for a code with ‖s‖²/(sᵀu)² − 1, and
// what the rounding of the query adds to that for every cosine.
func (s *search[T]) width(x *query[T], across float64) (law, rounding float64) {
	if x.norm == 0 {
		return 0, 0
	}
	d := float64(s.q.out)
	return float64(x.z * math.Sqrt(across/(d-1))), float64(x.z * x.rest * math.Sqrt((1+across)/d))
}

// across returns what ‖s‖²/(sᵀu)² − 1 is at most for rows in places [lo, hi) of a block. Blocks keep
// it for chunks that are full, from the first search that needs it on.
func (q *quantiser[T]) across(p *part, b *block, lo, hi int) float64 {
	var kept *atomic.Uint32
	if hi-lo == chunk || hi == b.size {
		b.once.Do(func() { b.across = make([]atomic.Uint32, (b.size+chunk-1)/chunk) })
		kept = &b.across[lo/chunk]
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
	// Sums of d' numbers in float32 round.
	across := float32(math.Max(0x1p-40, float64(float64(vecmath.Peak(scores))*(1+0x1p-16))-1+0x1p-20))
	if kept != nil {
		kept.Store(math.Float32bits(across))
	}
	return float64(across)
}

// lengthSquare returns ‖s‖²/(sᵀu)².
func (q *quantiser[T]) lengthSquare(c code) float64 {
	return float64(q.product(c, c) * c.ratio * c.ratio)
}

// offerReach takes rows that may be above the worst exact row so far into the list of a query.
func (s *search[T]) offerReach(p *part, x *query[T], l *list, r *stretch, products []float32) {
	most, rounding := s.width(x, r.across)
	least := x.of.least
	if math.IsInf(least, 1) || s.below(p, x, r, products, most+rounding+roundings, least) {
		return
	}
	for i := p.mask.next(0); i < r.n; i = p.mask.next(i + 1) {
		place := r.lo + i
		norm, along, cosine := float64(r.b.norms[place]), r.b.along(place), float64((float64(products[i])+x.slack)*r.b.ratio(place))
		if s.reach(x, norm, along, highest(cosine+rounding, most)) <= least {
			continue
		}
		own := r.b.code(place, s.q.words)
		if x.slack > 0 {
			cosine = float64(s.product(own.words, x, &s.desk) * own.ratio)
		}
		law, _ := s.width(x, max(0, s.q.lengthSquare(own)-1+0x1p-22))
		high := highest(cosine+rounding, min(most, law))
		id := r.b.id(place)
		c := candidate{s.reach(x, norm, along, high), r.base + id}
		if c.score > least && !x.of.found(c.row) && s.accepts(r.segment, id) {
			l.reach = append(l.reach, c)
		}
	}
}

// reach is the score for a cosine, with room for the rounding of norms.
func (s *search[T]) reach(x *query[T], norm, along, cosine float64) float64 {
	score := s.score(x, norm, along, cosine)
	if x.centre != nil {
		return score + x.ceiling(s.by, norm, along)
	}
	if s.by == SquaredDistance {
		score += float64(roundings * norm * norm * x.down)
	}
	return score
}

// reading is memory for reading rows.
type reading[T dense.Float] struct {
	data []T
	ids  []int
}

// readRows is the number of rows that are read at a time, after the first k.
const readRows = 64

// readExact reads the rows with the best estimates, and then those that may be better.
func (s *search[T]) readExact(hits [][]Hit, queries dense.Matrix[T]) error {
	s.run()
	for i, x := range s.queries {
		x.exact, x.least = x.exact[:0], math.Inf(1)
		if err := s.read(x, x.row(queries, i), x.best); err != nil {
			return err
		}
		if x.k > 0 && len(x.exact) == x.k {
			x.least = s.least(x, x.row(queries, i))
		}
	}
	s.bounded = true
	s.run()
	for i, x := range s.queries {
		if err := s.readReach(x, x.row(queries, i)); err != nil {
			return err
		}
		if x.norm != x.norm {
			hits[i] = x.write(s, hits[i])
			continue
		}
		hits[i] = hits[i][:len(x.exact)]
		for j, c := range x.exact {
			segment, id := s.locate(c.row)
			hits[i][j] = Hit{Segment: segment, ID: id, Estimate: Estimate{Value: x.exactValue(s.by, c.score)}}
		}
		order(hits[i], s.by)
	}
	return s.ctx.Err()
}

// found reports whether a row is among the best by estimates, which are sorted by their numbers.
func (x *query[T]) found(row int) bool {
	_, ok := slices.BinarySearchFunc(x.best, row, func(c candidate, row int) int { return cmp.Compare(c.row, row) })
	return ok
}

// readReach reads the rows in reach that are above the worst of the list.
func (s *search[T]) readReach(x *query[T], y []T) error {
	slices.SortFunc(x.reach, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
	})
	for left := x.reach; len(left) > 0 && left[0].score > x.least; {
		n := 1
		for n < min(readRows, len(left)) && left[n].score > x.least {
			n++
		}
		if err := s.read(x, y, left[:n]); err != nil {
			return err
		}
		left, x.least = left[n:], s.least(x, y)
	}
	return nil
}

// least returns the score of the worst row of a full list.
func (s *search[T]) least(x *query[T], y []T) float64 {
	value, norm := x.exact[0].score, math.Sqrt(2*vecmath.HalfSquaredNorm(y))
	switch {
	case s.q.centres != nil, s.by == SquaredDistance && x.exponent != 0:
		return value
	case s.by == SquaredDistance:
		return value + float64(norm*norm)
	case s.by == InnerProduct && norm > 0:
		return value / norm
	}
	return value
}

// read reads rows and takes them into the list of exact rows. It sorts the rows.
func (s *search[T]) read(x *query[T], y []T, some []candidate) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	slices.SortFunc(some, func(a, b candidate) int { return cmp.Compare(a.row, b.row) })
	m, d := &s.reading, len(y)
	for len(some) > 0 {
		segment, _ := s.locate(some[0].row)
		base := s.segments[segment].base
		end := base + s.segments[segment].rows.n
		m.ids = m.ids[:0]
		for _, c := range some {
			if c.row >= end {
				break
			}
			m.ids = append(m.ids, c.row-base)
		}
		n := len(m.ids)
		m.data = scratch.Resize(m.data, n*d)
		rows := dense.Of(n, d, m.data)
		if err := s.options.Rows(rows, segment, m.ids); err != nil {
			return err
		}
		for i, c := range some[:n] {
			value := exactly(s.by, rows.Row(i), y)
			if s.by == SquaredDistance && x.exponent != 0 {
				row := rows.Row(i)
				value = float64(2*exactly(InnerProduct, row, y)*x.up) - float64(exactly(InnerProduct, row, row)*x.down)
			}
			if value != value || math.IsInf(value, 0) {
				return fmt.Errorf("quantise: row %d of segment %d that Rows read holds NaN or ±Inf, or overflows", m.ids[i], segment)
			}
			x.exact = keep(x.exact, candidate{value, c.row}, x.k)
		}
		some = some[n:]
	}
	return nil
}

// exactly returns the measure of two vectors, with the opposite sign if less is better.
func exactly[T dense.Float](by Measure, x, y []T) float64 {
	var xy, xx, yy, distance float64
	for i, v := range x {
		a, b := float64(v), float64(y[i])
		xy += float64(a * b)
		xx += float64(a * a)
		yy += float64(b * b)
		distance += float64((a - b) * (a - b))
	}
	switch {
	case by == InnerProduct:
		return xy
	case by == SquaredDistance:
		return -distance
	case xx == 0 || yy == 0:
		return 0
	}
	return xy / (math.Sqrt(xx) * math.Sqrt(yy))
}

// squares returns the squares of levels and ones that package scan sums for ‖s‖².
func (q *quantiser[T]) squares() (table, ones []float32) {
	q.lengths.Do(func() {
		q.squared, q.ones = make([]float32, scan.TableSize), make([]float32, scan.Arranged(q.words, q.width))
		for k, v := range q.levels[:scan.TableSize] {
			q.squared[k] = v * v
		}
		x := make([]float32, q.elements())
		for i := range x {
			x[i] = 1
		}
		scan.Arrange(q.ones, x, q.words, q.width)
	})
	return q.squared, q.ones
}
