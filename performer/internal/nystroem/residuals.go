package nystroem

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// spanner is the scratch memory of Residuals.
type spanner[T dense.Float] struct {
	points   scratch.Buffer[T] // centred
	features scratch.Buffer[T]
	wide     scratch.Buffer[float64]    // r×points
	factor   triangular.Factor[float64] // that of a set, with memory of its own
}

var spanners pool.Pair[spanner[float32], spanner[float64]]

// Residuals sets dst[i] to the share of query i that the landmarks do not span: 1 − gᵀ·G⁻¹·g with
// the Gaussian features g_z = exp(−s·‖q − z‖²/2).
func (l *Set[T]) Residuals(dst []float64, q dense.Matrix[T]) {
	n := q.Rows
	m := pool.Get[spanner[T]](&spanners)
	m.features.Shape(n, len(l.offsets))
	m.wide.Shape(len(l.offsets), n)
	centred, features, wide := q, m.features.Rows(n), m.wide.Rows(len(l.offsets))
	if l.Means != nil {
		centred = less(&m.points, q, l.Means.Query)
	}
	l.logTransform(features, centred)
	for i := range n {
		half := l.Scale * vecmath.HalfSquaredNorm(centred.Row(i))
		for f, x := range features.Row(i) {
			wide.Row(f)[i] = math.Exp(min(float64(x)-half, 0))
		}
	}
	m.factor.Use(&l.factor)
	m.factor.Solve(wide)
	layout.Fill(dst, 1)
	for f := range wide.Rows {
		for i, x := range wide.Row(f) {
			dst[i] -= x * x
		}
	}
	pool.Put(&spanners, m)
}
