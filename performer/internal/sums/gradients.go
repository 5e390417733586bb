package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

type HeadGradients[T dense.Float] struct {
	DQ, DK, DV, Q, K, V, DOut dense.Matrix[T]
}

// Empty reports whether there is no query, no key or no output column. Empty sets the gradients to
// zero if there is no query, no key or no output column.
func (g *HeadGradients[T]) Empty() bool {
	if g.Q.Rows > 0 && g.K.Rows > 0 && g.V.Cols > 0 {
		return false
	}
	layout.Zero(g.DQ)
	layout.Zero(g.DK)
	layout.Zero(g.DV)
	return true
}

// quotientSlope replaces slope_f = Σ_j φ_jf·(v_j·g), for the gradient g with respect to the output
// of a query, by (slope_f − δ·sums_f)/D, times x_f with logarithms, where sums_f = Σ_j φ_jf. It
// returns D = Σ_f x_f·sums_f and δ = Σ_f x_f·slope_f/D.
func (e *Engine[T]) quotientSlope(slope, x, sums []T) (total, mean T) {
	total = vecmath.Dot(x, sums)
	mean = vecmath.Dot(x, slope) / total
	vecmath.AddScaled(slope, sums, -mean)
	vecmath.Scale(slope, 1/total)
	if e.Logs {
		vecmath.Multiply(slope, x)
	}
	return total, mean
}

func column[T dense.Float](x []T, m dense.Matrix[T]) {
	for f := range x {
		x[f] = m.Data[f*m.Stride+m.Cols-1]
	}
}
