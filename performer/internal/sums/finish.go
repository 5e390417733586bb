package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// Finish writes the outputs of queries with the given sums: sums over their last column, or, when
// unnormalised, sums times scales[i] in row i.
func (e *Engine[T]) Finish(dst, sums dense.Matrix[T], scales []logscale.Scale) {
	for i := range dst.Rows {
		x, row := dst.Row(i), sums.Row(i)
		switch {
		case e.Undivided:
			e.writeFraction(x, row, scales[i])
		case !e.Unnormalised:
			logscale.Divide(x, row, row[len(x)])
		case e.Logs:
			logscale.Apply(x, row, scales[i])
		default:
			vecmath.Affine(x, row[:len(x)], 1, 0)
		}
	}
}

func (e *Engine[T]) writeFraction(dst, sums []T, s logscale.Scale) {
	n := copy(dst, sums)
	if !e.Logs {
		s = logscale.Scale{Factor: 1}
	}
	dst[n], dst[n+1] = T(s.Factor), T(s.Exponent)
}
