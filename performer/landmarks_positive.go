package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// mostCancelled is how many times larger than a denominator the sum of the sizes of its terms may
// be, one term a landmark. Where terms cancel more, and the landmarks do not span the query, the
// errors of Â are of the size of the denominator.
const mostCancelled = 4

// leastUnlike is the residual of a query, relative to 1, above which landmarks do not span it. Terms
// cancel without errors where landmarks are dense, as in one dimension; residuals are then rounding.
const leastUnlike = 0.1

// positiveSums are the sums over keys with positive weights by landmarks: with D = diag(G·1) in
// place of G, they are D⁻¹·S. They answer the queries whose denominators by G⁻¹·S cancel.
type positiveSums[T dense.Float] struct {
	acc   *accumulator[T] // nil if no row is answered so
	sizes []T             // of the last column of G⁻¹·S
}

// take makes D⁻¹·S the sums of p, for the sums S of acc, and adds the landmarks that are keys with
// their weights and values, which are rows of v. Unnormalised attention has no denominators.
func (p *positiveSums[T]) take(a *Attention[T], acc *accumulator[T], v dense.Matrix[T]) {
	if a.landmarks == nil || a.opts.Unnormalised {
		return
	}
	l := a.landmarks
	if p.acc == nil {
		p.acc = a.accumulator(acc.sums().Cols - 1)
	}
	sums := p.acc.sums()
	dense.Copy(sums, acc.sums())
	p.acc.ref.copyOf(acc.ref)
	for f, s := range l.shares {
		vecmath.Scale(sums.Row(f), T(s))
	}
	for _, o := range l.own {
		row, half := sums.Row(o.landmark), l.halves[o.landmark]
		n, old := exponentOf(float64(T(half))), p.acc.ref.exponent[o.landmark]
		if n > old {
			if old != none {
				vecmath.Scale(row, lowering[T](old, n))
			}
			p.acc.ref.set(o.landmark, n)
			old = n
		}
		weight := T(math.Exp(half - logOf(old)))
		vecmath.AddScaled(row[:v.Cols], v.Row(o.key), weight)
		row[v.Cols] += weight
	}
}

// measure notes the sizes of the totals of G⁻¹·S, which mixed holds.
func (p *positiveSums[T]) measure(mixed *accumulator[T]) {
	if p.acc == nil {
		return
	}
	sums := mixed.sums()
	p.sizes = scratch.Resize(p.sizes, sums.Rows)
	for f := range sums.Rows {
		p.sizes[f] = T(math.Abs(float64(sums.Row(f)[sums.Cols-1])))
	}
}

// drop gives the sums back to a.
func (p *positiveSums[T]) drop(a *Attention[T]) {
	if p.acc != nil {
		a.accumulators.Put(p.acc)
		p.acc = nil
	}
}

// cancels reports whether the terms of a denominator cancel: total and near, which is positive.
// weights are those of a query for G⁻¹·S, whose totals have the given sizes.
func cancels[T dense.Float](weights, sizes []T, total, near T) bool {
	return mostCancelled*(total+near) < vecmath.Dot(weights, sizes)+near
}

// unlikeRows is the scratch memory of the search for queries that cancel.
type unlikeRows[T dense.Float] struct {
	points, features, sums scratch.Buffer[T]
	wide                   scratch.Buffer[float64] // r×rows
	factor                 triangular.Factor[float64]
	residuals              []float64
	rows                   []int
	scales                 []scale
}

// add makes query i of q one of the rows.
func (m *unlikeRows[T]) add(q dense.Matrix[T], i int) {
	m.points.Shape(q.Rows, q.Cols)
	m.rows = append(m.rows, i)
	copy(m.points.Rows(len(m.rows)).Row(len(m.rows)-1), q.Row(i))
}

// keep drops the rows of queries that the landmarks span: with the Gaussian features g_z =
// exp(−s·‖q − z‖²/2), the residual 1 − gᵀ·G⁻¹·g is small, and terms cancel because landmarks are
// near each other.
func (m *unlikeRows[T]) keep(l *landmarkSet[T]) {
	n := len(m.rows)
	points := m.points.Rows(n)
	m.features.Shape(n, len(l.offsets))
	m.sums.Shape(n, points.Cols)
	m.wide.Shape(len(l.offsets), n)
	centred, features, wide := dense.Copy(m.sums.Rows(n), points), m.features.Rows(n), m.wide.Rows(len(l.offsets))
	if l.means != nil {
		for i := range n {
			vecmath.AddScaled(centred.Row(i), l.means.query, -1)
		}
	}
	l.logTransform(features, centred)
	for i := range n {
		half := l.scale * vecmath.HalfSquaredNorm(centred.Row(i))
		for f, x := range features.Row(i) {
			wide.Row(f)[i] = math.Exp(min(float64(x)-half, 0))
		}
	}
	m.factor.Use(&l.factor)
	m.factor.Solve(wide)
	m.residuals = scratch.Resize(m.residuals, n)
	fill(m.residuals, 1)
	for f := range wide.Rows {
		for i, x := range wide.Row(f) {
			m.residuals[i] -= x * x
		}
	}
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
// G⁻¹·S, sums are the products, relative to scales, which may be nil. near(i) is what query i has of
// near keys, relative to its scale.
func (p *positiveSums[T]) mend(a *Attention[T], q, weights, sums dense.Matrix[T], scales []scale, near func(i int) T) {
	if p.acc == nil {
		return
	}
	m := pool.Get[unlikeRows[T]](&unlikes)
	m.rows = m.rows[:0]
	for i := range sums.Rows {
		total := sums.Row(i)[sums.Cols-1]
		if cancels(weights.Row(i), p.sizes, total, 0) && (near == nil || cancels(weights.Row(i), p.sizes, total, near(i))) {
			m.add(q, i)
		}
	}
	if len(m.rows) > 0 {
		m.keep(a.landmarks)
	}
	if n := len(m.rows); n > 0 {
		m.features.Shape(n, a.m)
		m.sums.Shape(n, sums.Cols)
		m.scales = scratch.Resize(m.scales, n)
		features, out := m.features.Rows(n), m.sums.Rows(n)
		a.mapQueries(features, m.points.Rows(n))
		p.acc.scaleQueries(features, m.scales)
		matmul.Mul(1, features, p.acc.sums(), 0, out)
		for j, i := range m.rows {
			copy(sums.Row(i), out.Row(j))
			if scales != nil {
				scales[i] = m.scales[j]
			}
		}
	}
	pool.Put(&unlikes, m)
}

var unlikes pool.Both[unlikeRows[float32], unlikeRows[float64]]

// share sets the shares to 1/Σ_g G_fg, from the lower triangle and the diagonal of the factor of G.
func (l *landmarkSet[T]) share(factor dense.Matrix[float64], diagonal []float64) {
	n := len(diagonal)
	l.columns, l.shares = scratch.Resize(l.columns, n), scratch.Resize(l.shares, n)
	columns := l.columns
	clear(columns)
	for i := range n {
		for j, x := range factor.Row(i)[:i] {
			columns[j] += x
		}
		columns[i] += diagonal[i]
	}
	for i := range n {
		sum := diagonal[i] * columns[i]
		for j, x := range factor.Row(i)[:i] {
			sum += x * columns[j]
		}
		l.shares[i] = 1 / max(sum, 1) // the diagonal of G is 1, and no element is negative
	}
}

// noteSizes notes the sizes of the totals of G⁻¹·S.
func (b *bidirectionalGradient[T]) noteSizes() {
	b.sizes = scratch.Resize(b.sizes, len(b.total))
	for f, x := range b.total {
		b.sizes[f] = T(math.Abs(float64(x)))
	}
}

// leaveConstant makes the weights zero of queries that Forward answers by positive weights: their
// outputs count as constants.
func (b *bidirectionalGradient[T]) leaveConstant(q, weights dense.Matrix[T]) {
	if b.a.landmarks == nil || b.a.opts.Unnormalised {
		return
	}
	m := pool.Get[unlikeRows[T]](&unlikes)
	m.rows = m.rows[:0]
	for i := range q.Rows {
		if cancels(weights.Row(i), b.sizes, vecmath.Dot(weights.Row(i), b.total), 0) {
			m.add(q, i)
		}
	}
	if len(m.rows) > 0 {
		m.keep(b.a.landmarks)
	}
	for _, i := range m.rows {
		clear(weights.Row(i))
	}
	pool.Put(&unlikes, m)
}
