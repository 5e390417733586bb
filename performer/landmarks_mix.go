package performer

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// landmarkMixer is the scratch memory of one product with G⁻¹.
type landmarkMixer[T dense.Float] struct {
	set    *landmarkSet[T]
	factor triangular.Factor[float64] // that of set, with memory for systems of equations
	sums   scratch.Buffer[float64]    // r×width, relative to exp(top)
	top    int64
}

// mix replaces the sums S over the keys that are not landmarks by G⁻¹·S, and adds the landmarks
// that are keys with their weights and values, which are rows of v. Keys from ≤ j < to are left out.
func (l *landmarkSet[T]) mix(acc *accumulator[T], v dense.Matrix[T], from, to int) {
	m := pool.Get[landmarkMixer[T]](&landmarkMixers)
	m.solve(l, acc, acc)
	for _, o := range l.own {
		if o.key < from || o.key >= to {
			m.place(acc, o.landmark, v.Row(o.key), true)
		}
	}
	pool.Put(&landmarkMixers, m)
}

// solve makes G⁻¹·S the sums of to, for the sums S of acc, which may be to.
func (l *landmarkSet[T]) solve(to, acc *accumulator[T]) {
	m := pool.Get[landmarkMixer[T]](&landmarkMixers)
	m.solve(l, to, acc)
	pool.Put(&landmarkMixers, m)
}

// solve makes G⁻¹·S the sums of m and of to.
func (m *landmarkMixer[T]) solve(l *landmarkSet[T], to, acc *accumulator[T]) {
	m.set = l
	m.factor.Use(&l.factor)
	sums, exponents := acc.sums(), acc.ref.exponent
	m.sums.Shape(sums.Rows, sums.Cols)
	wide := m.sums.Rows(sums.Rows)
	m.top = slices.Max(exponents)
	for f := range sums.Rows {
		factor := 1.0
		if exponents[f] != none {
			factor = lowering[float64](exponents[f], m.top)
		}
		row := wide.Row(f)
		for j, x := range sums.Row(f) {
			row[j] = float64(x) * factor
		}
	}
	m.factor.Solve(wide)
	m.factor.SolveTransposed(wide)
	for f := range sums.Rows {
		m.place(to, f, nil, false)
	}
}

// place makes x·exp(top), where x is row f of sums, the sums of landmark f, and adds exp(a_z)·[v,
// 1] if the landmark z is a key.
func (m *landmarkMixer[T]) place(acc *accumulator[T], f int, v []T, isKey bool) {
	x, top := m.sums.Rows(acc.m).Row(f), m.top
	log, own, first, rest := math.Inf(-1), 0.0, 1.0, 1.0
	var peak float64
	if isKey {
		log = m.set.halves[f]
	}
	if top != none {
		for _, y := range x {
			if size := math.Abs(y); size <= math.MaxFloat64 { // NaN and Inf stay in their columns
				peak = max(peak, size)
			}
		}
		if peak > 0 {
			at := logOf(top)
			if !isFar(top) { // a far reference is a number of T
				at += math.Log(peak)
			}
			log = max(log, at)
		}
	}
	n := int64(none)
	if !math.IsInf(log, -1) {
		n = exponentOf(float64(T(log)))
		if isKey {
			own = math.Exp(m.set.halves[f] - logOf(n))
		}
		if top != none && peak != 0 {
			if rest = lowering[float64](top, n); math.IsInf(rest, 1) { // and numbers below the normal ones
				first, rest = 0x1p1000, lowering[float64](top, n+1000)
			}
		}
	}
	acc.ref.set(f, n)
	to := acc.sums().Row(f)
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

var landmarkMixers pool.Both[landmarkMixer[float32], landmarkMixer[float64]]
