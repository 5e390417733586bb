package nystroem

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// gaussianColumns is the matrix exp(−s·‖x_i − x_j‖²/2) of the rows of points, for package pivot.
type gaussianColumns[T dense.Float] struct {
	points dense.Matrix[T]
	scale  T
	halves []T // s·‖x_i‖²/2

	fixed       scratch.Buffer[T]
	fixedHalves []T // with the other sign
	packed      matmul.Packed[T]
}

func (g *gaussianColumns[T]) Fix(at []int) {
	g.fixed.Shape(len(at), g.points.Cols)
	g.fixedHalves = scratch.Resize(g.fixedHalves, len(at))
	fixed := g.fixed.Rows(len(at))
	for i, from := range at {
		copy(fixed.Row(i), g.points.Row(from))
		g.fixedHalves[i] = -g.halves[from]
	}
	matmul.PackT(&g.packed, fixed)
}

func (g *gaussianColumns[T]) Columns(dst dense.Matrix[T], rows []int) {
	b := pool.Get[scratch.Buffer[T]](&gathered)
	b.Shape(len(rows), g.points.Cols)
	points := b.Rows(len(rows))
	for i, from := range rows {
		copy(points.Row(i), g.points.Row(from))
	}
	matmul.MulPacked(g.scale, points, &g.packed, 0, dst, nil)
	pool.Put(&gathered, b)
	for i, from := range rows {
		g.finish(dst.Row(i), -g.halves[from])
	}
}

var gathered pool.Pair[scratch.Buffer[float32], scratch.Buffer[float64]]

// finish replaces the products s·x·y of a point x by exp(s·x·y − s‖y‖²/2 − s‖x‖²/2), given half =
// −s‖x‖²/2.
func (g *gaussianColumns[T]) finish(row []T, half T) {
	vecmath.AffineEach(row, 1, g.fixedHalves, half)
	if half*logscale.Roundoff[T]() < -0x1p-12 {
		for j, x := range row {
			row[j] = min(x, 0) // the rounding error may be large
		}
	}
	vecmath.Exp(row, row)
}
