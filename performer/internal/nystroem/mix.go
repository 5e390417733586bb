package nystroem

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// mixer is the scratch memory of a product with G⁻¹.
type mixer[T dense.Float] struct {
	set    *Set[T]
	factor triangular.Factor[float64] // that of set, with memory for systems of equations
	sums   scratch.Buffer[float64]    // r×width, relative to exp(top)
	top    int64
}

// Mix sets the sums of to to G⁻¹·S, for the sums S of from over the keys that are not landmarks.
// Unless v has no rows, Mix adds the landmarks that are keys with their weights and values, which
// are rows of v.
func (l *Set[T]) Mix(to, from *sums.Accumulator[T], v dense.Matrix[T]) {
	m := pool.Get[mixer[T]](&mixers)
	m.solve(l, to, from)
	if v.Rows > 0 {
		for _, o := range l.own {
			m.place(to, o.landmark, v.Row(o.key), true)
		}
	}
	pool.Put(&mixers, m)
}

// solve sets the sums of m and of to to G⁻¹·S.
func (m *mixer[T]) solve(l *Set[T], to, acc *sums.Accumulator[T]) {
	m.set = l
	m.factor.Use(&l.factor)
	s, exponents := acc.Sums(), acc.Ref.Exponents()
	m.sums.Shape(s.Rows, s.Cols)
	wide := m.sums.Rows(s.Rows)
	m.top = slices.Max(exponents)
	for f := range s.Rows {
		factor := 1.0
		if exponents[f] != logscale.None {
			factor = logscale.Lowering[float64](exponents[f], m.top)
		}
		row := wide.Row(f)
		for j, x := range s.Row(f) {
			row[j] = float64(x) * factor
		}
	}
	m.factor.Solve(wide)
	m.factor.SolveTransposed(wide)
	for f := range s.Rows {
		m.place(to, f, nil, false)
	}
}

// place sets the sums of landmark f to x·exp(top), where x is row f of m.sums. If the landmark z is
// a key, place adds exp(a_z)·[v, 1].
func (m *mixer[T]) place(acc *sums.Accumulator[T], f int, v []T, isKey bool) {
	x, top := m.sums.Rows(acc.Sums().Rows).Row(f), m.top
	log, own, first, rest := math.Inf(-1), 0.0, 1.0, 1.0
	var peak float64
	if isKey {
		log = m.set.halves[f]
	}
	if top != logscale.None {
		for _, y := range x {
			if size := math.Abs(y); size <= math.MaxFloat64 { // NaN and Inf stay in their columns
				peak = max(peak, size)
			}
		}
		if peak > 0 {
			at := logscale.LogOf(top)
			if !logscale.IsExtreme(top) { // an extreme reference is a number of T
				at += math.Log(peak)
			}
			log = max(log, at)
		}
	}
	n := int64(logscale.None)
	if !math.IsInf(log, -1) {
		n = logscale.ExponentOf(float64(T(log)))
		if isKey {
			own = math.Exp(m.set.halves[f] - logscale.LogOf(n))
		}
		if top != logscale.None && peak != 0 {
			if rest = logscale.Lowering[float64](top, n); math.IsInf(rest, 1) { // in two steps
				first, rest = 0x1p1000, logscale.Lowering[float64](top, n+1000)
			}
		}
	}
	acc.Ref.Set(f, n)
	to := acc.Sums().Row(f)
	for j, y := range x {
		y = y * first * rest
		switch {
		case !isKey:
		case j < len(v):
			y += own * float64(v[j])
		default:
			y += own
		}
		to[j] = T(y)
	}
}

var mixers pool.Pair[mixer[float32], mixer[float64]]

// Share sets the sums of to to D⁻¹·S, D = diag(G·1), for the sums S of from over the keys that are
// not landmarks. Share adds the landmarks that are keys with their weights and values, which are
// rows of v.
func (l *Set[T]) Share(to, from *sums.Accumulator[T], v dense.Matrix[T]) {
	s := to.Sums()
	dense.Copy(s, from.Sums())
	to.Ref.Copy(from.Ref)
	for f, share := range l.shares {
		vecmath.Scale(s.Row(f), T(share))
	}
	if v.Rows == 0 {
		return
	}
	for _, o := range l.own {
		row, half := s.Row(o.landmark), l.halves[o.landmark]
		n, old := logscale.ExponentOf(float64(T(half))), to.Ref.Exponents()[o.landmark]
		if n > old {
			if old != logscale.None {
				vecmath.Scale(row, logscale.Lowering[T](old, n))
			}
			to.Ref.Set(o.landmark, n)
			old = n
		}
		weight := T(math.Exp(half - logscale.LogOf(old)))
		vecmath.AddScaled(row[:v.Cols], v.Row(o.key), weight)
		row[v.Cols] += weight
	}
}
