package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// Finish writes the outputs of queries with the given sums: sums over their last column or, when
// undivided, with the scale of row i, scales[i].
func (e *Engine[T]) Finish(dst, sums dense.Matrix[T], scales []logscale.Scale) {
	for i := range dst.Rows {
		x, row := dst.Row(i), sums.Row(i)
		if e.Undivided {
			e.writeFraction(x, row, scales[i])
		} else {
			logscale.Divide(x, row, row[len(x)])
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
