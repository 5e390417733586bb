package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// If features cost less than their logarithms, attention takes features first. It takes logarithms
// only if the sums show that features were too large or too small. If the sum of a feature over the
// keys is out of range, all rows are computed again. If a denominator is out of range, its row is
// computed again.
//
// A sum of at least leastSum lost less than 2^(−100) of itself to underflow. With sums and
// denominators up to greatestSum numerators are in range for float32 values up to 2⁸⁰.
const (
	leastSum    = 0x1p-20
	greatestSum = 0x1p40
)

// isELU reports whether a map has the features elu+1. These mostly take an addition, and their
// logarithms a transcendental function.
func isELU[T dense.Float](m rff.Map[T]) bool {
	_, ok := m.Kernel().(kernels.ELU)
	return ok
}

func inRange[T dense.Float](sum T) bool { return leastSum <= sum && sum <= greatestSum }

// allInRange reports whether the sums of all features over the keys are in range.
func (acc *accumulator[T]) allInRange() bool {
	sums := acc.sums()
	for f := range sums.Rows {
		if !inRange(sums.Row(f)[sums.Cols-1]) {
			return false
		}
	}
	return true
}

// amend computes queries again, with logarithms, if their denominator is out of range.
func (b *answering[T]) amend(w *workspace[T], queries, out dense.Matrix[T]) {
	for i := range out.Rows {
		if inRange(out.Row(i)[out.Cols-1]) {
			continue
		}
		q := w.features.Rows(1)
		b.a.mapQueries(q, queries.RowRange(i, i+1))
		b.segmentSums[0].ref.scaleQueries(q, nil)
		matmul.MulPacked(1, q, &b.total, 0, out.RowRange(i, i+1), nil)
	}
}
