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

// across returns a bound of ‖s‖²/(sᵀu)² − 1 for the rows in places [lo, hi) of a block. The first
// search that needs the bound of a full chunk stores the bound in the block.
func (q *quantiser[T]) across(p *workspace, b *block, lo, hi int) float64 {
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

// lengthSquare returns ‖s‖²/(sᵀu)².
func (q *quantiser[T]) lengthSquare(c code) float64 {
	return float64(q.product(c, c) * c.ratio * c.ratio)
}

// offerPossible adds the rows whose upper bounds exceed the worst exact value so far to the results
// of a query.
func (s *search[T]) offerPossible(p *workspace, x *query[T], l *results, r *chunk, products []float32) {
	most, rounding := s.errorBound(x, r.across)
	least := x.of.least
	if math.IsInf(least, 1) || s.allBelow(p, x, r, products, most+rounding+roundings, least) {
		return
	}
	for i := p.mask.next(0); i < r.n; i = p.mask.next(i + 1) {
		place := r.lo + i
		norm, centreProduct, cosine := float64(r.b.norms[place]), r.b.centreProduct(place), float64((float64(products[i])+x.slack)*r.b.ratio(place))
		if s.upperScore(x, norm, centreProduct, upperCosine(cosine+rounding, most)) <= least {
			continue
		}
		own := r.b.code(place, s.q.words)
		if x.slack > 0 {
			cosine = float64(s.product(own.words, x, &s.roundedQueries) * own.ratio)
		}
		law, _ := s.errorBound(x, max(0, s.q.lengthSquare(own)-1+0x1p-22))
		high := upperCosine(cosine+rounding, min(most, law))
		id := r.b.id(place)
		c := candidate{s.upperScore(x, norm, centreProduct, high), r.base + id}
		if c.score > least && !x.of.found(c.row) && s.accepts(r.segment, id) {
			l.possible = append(l.possible, c)
		}
	}
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

// readRows is the number of rows that readPossible reads at a time.
const readRows = 64

// readExact reads the rows with the best estimates, and then the rows that may rank above them.
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
	s.secondPass = true
	s.run()
	for i, x := range s.queries {
		if err := s.readPossible(x, x.row(queries, i)); err != nil {
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

// found reports whether x.best, which is sorted by row number, contains a row.
func (x *query[T]) found(row int) bool {
	_, ok := slices.BinarySearchFunc(x.best, row, func(c candidate, row int) int { return cmp.Compare(c.row, row) })
	return ok
}

// readPossible reads the rows of x.possible whose upper bounds exceed the worst exact value.
func (s *search[T]) readPossible(x *query[T], y []T) error {
	slices.SortFunc(x.possible, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
	})
	for left := x.possible; len(left) > 0 && left[0].score > x.least; {
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

// least returns the score of the worst of k exact rows.
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

// read reads the rows of some candidates and offers them to x.exact. read sorts some by row number.
func (s *search[T]) read(x *query[T], y []T, some []candidate) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	slices.SortFunc(some, func(a, b candidate) int { return cmp.Compare(a.row, b.row) })
	d := len(y)
	for len(some) > 0 {
		segment, _ := s.locate(some[0].row)
		base := s.segments[segment].base
		end := base + s.segments[segment].rows.n
		s.rowIDs = s.rowIDs[:0]
		for _, c := range some {
			if c.row >= end {
				break
			}
			s.rowIDs = append(s.rowIDs, c.row-base)
		}
		n := len(s.rowIDs)
		s.rowData = scratch.Resize(s.rowData, n*d)
		rows := dense.Of(n, d, s.rowData)
		if err := s.options.Rows(rows, segment, s.rowIDs); err != nil {
			return err
		}
		for i, c := range some[:n] {
			value := exactly(s.by, rows.Row(i), y)
			if s.by == SquaredDistance && x.exponent != 0 {
				row := rows.Row(i)
				value = float64(2*exactly(InnerProduct, row, y)*x.up) - float64(exactly(InnerProduct, row, row)*x.down)
			}
			if value != value || math.IsInf(value, 0) {
				return fmt.Errorf("quantise: row %d of segment %d that Rows read holds NaN or ±Inf, or overflows", s.rowIDs[i], segment)
			}
			x.exact = keep(x.exact, candidate{value, c.row}, x.k)
		}
		some = some[n:]
	}
	return nil
}

// exactly returns the measure of two vectors, negative for a squared distance.
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

// squares returns the table of squared levels and a vector of ones. Their product, which
// scan.Levels computes for a row, is ‖s‖².
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
