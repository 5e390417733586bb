package nystroem

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// spanner is the scratch memory of residuals of points.
type spanner[T dense.Float] struct {
	points   scratch.Buffer[T] // centred
	features scratch.Buffer[T]
	wide     scratch.Buffer[float64]    // r×points
	factor   triangular.Factor[float64] // that of a set, with memory of its own
}

var spanners pool.Both[spanner[float32], spanner[float64]]

// Residuals sets dst to how much of each query the landmarks do not span, relative to 1: with the
// Gaussian features g_z = exp(−s·‖q − z‖²/2), 1 − gᵀ·G⁻¹·g.
func (l *Set[T]) Residuals(dst []float64, q dense.Matrix[T]) {
	n := q.Rows
	m := pool.Get[spanner[T]](&spanners)
	m.points.Shape(n, q.Cols)
	m.features.Shape(n, len(l.offsets))
	m.wide.Shape(len(l.offsets), n)
	centred, features, wide := dense.Copy(m.points.Rows(n), q), m.features.Rows(n), m.wide.Rows(len(l.offsets))
	if l.Means != nil {
		for i := range n {
			vecmath.AddScaled(centred.Row(i), l.Means.Query, -1)
		}
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

const leastResidual = 0x1p-32 // of κ(k, k)

// weigher is the scratch memory of weights of keys.
type weigher[T dense.Float] struct {
	factor        triangular.Factor[float64] // that of a set, with memory of its own
	keys, columns scratch.Buffer[float64]    // keys×d, r×keys
	halves, spans []float64                  // one a key
	point         []T                        // d
}

var weighers pool.Both[weigher[float32], weigher[float64]]

// KeyErrors sets logs to log w_j of some keys, where w_j² bounds the error of the weights of key j:
// with a_j = s·‖k_j‖²/2 and the factor C of G = CCᵀ, w_j² = exp(2·a_j)·(1 − ‖C⁻¹·g_j‖²), g_j =
// exp(−s·‖z − k_j‖²/2). Keys that are centred have the squares of their factors too. w_j² is at least
// 2⁻³² of exp(2·a_j).
func (l *Set[T]) KeyErrors(logs []float64, k dense.Matrix[T]) {
	w, r := pool.Get[weigher[T]](&weighers), len(l.offsets)
	w.factor.Use(&l.factor)
	w.keys.Shape(k.Rows, k.Cols)
	w.columns.Shape(r, k.Rows)
	w.point, w.halves = scratch.Resize(w.point, k.Cols), scratch.Resize(w.halves, k.Rows)
	keys, columns := w.keys.Rows(k.Rows), w.columns.Rows(r)
	for j := range k.Rows {
		l.centreKey(w.point, k.Row(j))
		for c, x := range w.point {
			keys.Row(j)[c] = float64(x)
		}
		w.halves[j] = l.Scale * vecmath.HalfSquaredNorm(w.point)
		logs[j] = w.halves[j] + l.logFactor(w.point)
	}
	matmul.MulT(l.Scale, l.wide.Rows(r), keys, 0, columns)
	vecmath.Scale(w.halves, -1)
	for i, offset := range l.offsets {
		row := columns.Row(i)
		if math.IsInf(float64(offset), -1) {
			clear(row)
			continue
		}
		vecmath.AffineEach(row, 1, w.halves, -l.spans[i])
		for j, x := range row {
			row[j] = min(x, 0) // rounding may be of any size
		}
		vecmath.Exp(row, row)
	}
	w.factor.Solve(columns)
	w.spans = scratch.Resize(w.spans, k.Rows)
	clear(w.spans)
	for i := range columns.Rows {
		for j, x := range columns.Row(i) {
			w.spans[j] += x * x
		}
	}
	for j, span := range w.spans {
		// The exponents of columns are differences of numbers of the size of a_j.
		least := max(leastResidual, -32*logscale.Roundoff[float64]()*w.halves[j])
		logs[j] += math.Log(max(1-span, least)) / 2
	}
	pool.Put(&weighers, w)
}

// Exclude sets the elements of logs, one a key of the call, of keys that are landmarks to −Inf.
func (l *Set[T]) Exclude(logs []float64) {
	for _, o := range l.own {
		logs[o.key] = math.Inf(-1)
	}
}
