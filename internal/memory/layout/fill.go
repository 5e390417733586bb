package layout

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

func Fill[T dense.Float](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

func Zero[T dense.Float](m dense.Matrix[T]) {
	for i := range m.Rows {
		clear(m.Row(i))
	}
}

// Finite reports whether the squared norms of all rows of m are finite.
func Finite[T dense.Float](m dense.Matrix[T]) bool {
	for i := range m.Rows {
		if s := vecmath.HalfSquaredNorm(m.Row(i)); s-s != 0 {
			return false
		}
	}
	return true
}
