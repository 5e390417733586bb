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

// mostCancelled is the largest ratio of Σ_f |terms of a denominator| to the denominator. If terms
// cancel more, and the features do not span the query, the errors of mixed sums are as large as the
// denominator.
const mostCancelled = 4

// leastResidual is the residual of a query, from 0 to 1, above which features do not span it. If
// features are dense, as landmarks are in one dimension, terms cancel without errors and residuals
// are rounding errors.
const leastResidual = 0.1

// positive holds the sums of Mixer.Share, which have positive weights. They replace the mixed sums
// for queries whose denominators cancel.
type positive[T dense.Float] struct {
	acc   *Accumulator[T] // nil without a Mixer or denominators
	sizes []T             // of the last column of the mixed sums
}

// prepare computes the sums from s. Unnormalised attention has no denominators.
func (p *positive[T]) prepare(e *Engine[T], s *Accumulator[T], v dense.Matrix[T]) {
	if e.Unnormalised {
		return
	}
	if p.acc == nil {
		p.acc = e.Accumulator(s.Sums().Cols - 1)
	}
	e.Mixer.Share(p.acc, s, v)
}

// measure sets sizes to the absolute values of the last column of the mixed sums.
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

// drop returns the sums to their pool.
func (p *positive[T]) drop(e *Engine[T]) {
	if p.acc != nil {
		e.Drop(p.acc)
		p.acc = nil
	}
}

// cancels reports whether the terms of the denominator total cancel: the product of the weights of
// a query with totals of mixed sums that have the given sizes.
func cancels[T dense.Float](weights, sizes []T, total T) bool {
	return mostCancelled*total < vecmath.Dot(weights, sizes)
}

// unspanned holds queries that the features do not span, and scratch memory.
type unspanned[T dense.Float] struct {
	points, features, sums scratch.Buffer[T]
	residuals              []float64
	rows                   []int
	scales                 []logscale.Scale
}

// newUnspanned returns an empty unspanned, which the caller returns to unspannedMemory.
func newUnspanned[T dense.Float]() *unspanned[T] {
	m := pool.Get[unspanned[T]](&unspannedMemory)
	m.rows = m.rows[:0]
	return m
}

var unspannedMemory pool.Pair[unspanned[float32], unspanned[float64]]

// add adds query i of q.
func (m *unspanned[T]) add(q dense.Matrix[T], i int) {
	m.points.Shape(q.Rows, q.Cols)
	m.rows = append(m.rows, i)
	copy(m.points.Rows(len(m.rows)).Row(len(m.rows)-1), q.Row(i))
}

// keep removes queries that the features span. The terms of these cancel because features are close
// to each other.
func (m *unspanned[T]) keep(e *Engine[T]) {
	if len(m.rows) == 0 {
		return
	}
	points := m.points.Rows(len(m.rows))
	m.residuals = scratch.Resize(m.residuals, points.Rows)
	e.Mixer.Residuals(m.residuals, points)
	kept := 0
	for i, row := range m.rows {
		if m.residuals[i] > leastResidual {
			m.rows[kept] = row
			copy(points.Row(kept), points.Row(i))
			kept++
		}
	}
	m.rows = m.rows[:kept]
}

// replace replaces the sums of queries whose denominators cancel. sums are the products of weights
// with the mixed sums, relative to scales, which may be nil.
func (p *positive[T]) replace(e *Engine[T], q, weights, sums dense.Matrix[T], scales []logscale.Scale) {
	if p.acc == nil {
		return
	}
	m := newUnspanned[T]()
	for i := range sums.Rows {
		if cancels(weights.Row(i), p.sizes, sums.Row(i)[sums.Cols-1]) {
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
	pool.Put(&unspannedMemory, m)
}
