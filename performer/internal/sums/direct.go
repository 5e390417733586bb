package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// If features cost less than their logarithms, attention uses features first. If the sum of a
// feature over the keys is out of range, all rows are computed again with logarithms. If a
// denominator is out of range, its row is computed again with logarithms. A sum of at least
// leastSum has lost less than 2^(−100) of itself to underflow. With sums and denominators up to
// greatestSum numerators are in range for float32 values up to 2⁸⁰.
const (
	leastSum    = 0x1p-20
	greatestSum = 0x1p40
)

func inRange[T dense.Float](sum T) bool { return leastSum <= sum && sum <= greatestSum }

func (acc *Accumulator[T]) allInRange() bool {
	sums := acc.Sums()
	for f := range sums.Rows {
		if !inRange(sums.Row(f)[sums.Cols-1]) {
			return false
		}
	}
	return true
}

func (b *bidirectional[T]) amend(w *Workspace[T], queries, out dense.Matrix[T]) {
	for i := range out.Rows {
		if inRange(out.Row(i)[out.Cols-1]) {
			continue
		}
		q := w.Features.Rows(1)
		b.e.Features.Queries(q, queries.RowRange(i, i+1))
		b.sums.Ref.ScaleQueries(q, nil)
		matmul.MulPacked(1, q, &b.packed, 0, out.RowRange(i, i+1), nil)
	}
}
