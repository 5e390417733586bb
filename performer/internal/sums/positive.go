package sums

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// mostCancelled is how many times larger than a denominator the sum of the sizes of its terms may
// be, one term a feature. Where terms cancel more, and the features do not span the query, the
// errors of mixed sums are of the size of the denominator.
const mostCancelled = 4

// leastUnlike is the residual of a query, relative to 1, above which features do not span it. Terms
// cancel without errors where features are dense, as landmarks are in one dimension; residuals are
// then rounding.
const leastUnlike = 0.1

// positive are the sums over keys with positive weights, those of Mixer.Share. They answer the
// queries whose denominators by mixed sums cancel.
type positive[T dense.Float] struct {
	acc   *Accumulator[T] // nil if no row is answered so
	sizes []T             // of the last column of the mixed sums
}

// take makes shared sums of s. Unnormalised attention has no denominators.
func (p *positive[T]) take(e *Engine[T], s *Accumulator[T], v dense.Matrix[T]) {
	if e.Unnormalised {
		return
	}
	if p.acc == nil {
		p.acc = e.Accumulator(s.Sums().Cols - 1)
	}
	e.Mixer.Share(p.acc, s, v)
}

// measure notes the sizes of the totals of mixed sums.
func (p *positive[T]) measure(mixed *Accumulator[T]) {
	if p.acc == nil {
		return
	}
	sums := mixed.Sums()
	p.sizes = scratch.Resize(p.sizes, sums.Rows)
	for f := range sums.Rows {
		p.sizes[f] = T(math.Abs(float64(sums.Row(f)[sums.Cols-1])))
	}
}

// drop gives the sums back.
func (p *positive[T]) drop(e *Engine[T]) {
	if p.acc != nil {
		e.Drop(p.acc)
		p.acc = nil
	}
}

// cancels reports whether the terms of a denominator cancel: total and near, which is positive.
// weights are those of a query for mixed sums, whose totals have the given sizes.
func cancels[T dense.Float](weights, sizes []T, total, near T) bool {
	return mostCancelled*(total+near) < vecmath.Dot(weights, sizes)+near
}

// unlikeRows is the scratch memory of the search for queries that cancel.
type unlikeRows[T dense.Float] struct {
	points, features, sums scratch.Buffer[T]
	residuals              []float64
	rows                   []int
	scales                 []logscale.Scale
}

// unlikes returns memory without rows, which the caller gives to unlikeMemory.
func unlikes[T dense.Float]() *unlikeRows[T] {
	m := pool.Get[unlikeRows[T]](&unlikeMemory)
	m.rows = m.rows[:0]
	return m
}

var unlikeMemory pool.Pair[unlikeRows[float32], unlikeRows[float64]]

// add makes query i of q one of the rows.
func (m *unlikeRows[T]) add(q dense.Matrix[T], i int) {
	m.points.Shape(q.Rows, q.Cols)
	m.rows = append(m.rows, i)
	copy(m.points.Rows(len(m.rows)).Row(len(m.rows)-1), q.Row(i))
}

// keep drops the rows of queries that the features span: their terms cancel because features are
// near each other.
func (m *unlikeRows[T]) keep(e *Engine[T]) {
	if len(m.rows) == 0 {
		return
	}
	points := m.points.Rows(len(m.rows))
	m.residuals = scratch.Resize(m.residuals, points.Rows)
	e.Mixer.Residuals(m.residuals, points)
	kept := 0
	for i, row := range m.rows {
		if m.residuals[i] > leastUnlike {
			m.rows[kept] = row
			copy(points.Row(kept), points.Row(i))
			kept++
		}
	}
	m.rows = m.rows[:kept]
}

// mend answers the queries whose denominators cancel again. weights are those of the queries for
// mixed sums, sums are the products, relative to scales, which may be nil. near(i) is what query i
// has from elsewhere, relative to its scale.
func (p *positive[T]) mend(e *Engine[T], q, weights, sums dense.Matrix[T], scales []logscale.Scale, near func(i int) T) {
	if p.acc == nil {
		return
	}
	m := unlikes[T]()
	for i := range sums.Rows {
		total := sums.Row(i)[sums.Cols-1]
		if cancels(weights.Row(i), p.sizes, total, 0) && (near == nil || cancels(weights.Row(i), p.sizes, total, near(i))) {
			m.add(q, i)
		}
	}
	m.keep(e)
	if n := len(m.rows); n > 0 {
		m.features.Shape(n, e.M)
		m.sums.Shape(n, sums.Cols)
		m.scales = scratch.Resize(m.scales, n)
		features, out := m.features.Rows(n), m.sums.Rows(n)
		e.Features.Queries(features, m.points.Rows(n))
		p.acc.ScaleQueries(features, m.scales)
		matmul.Mul(1, features, p.acc.Sums(), 0, out)
		for j, i := range m.rows {
			copy(sums.Row(i), out.Row(j))
			if scales != nil {
				scales[i] = m.scales[j]
			}
		}
	}
	pool.Put(&unlikeMemory, m)
}
