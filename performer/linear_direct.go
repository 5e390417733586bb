package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// Features that cost less than their logarithms are used as they are, unless what
// comes out shows that they were too large or too small for it. Then the work is
// done again with logarithms: for all rows when the sums of features over the keys
// are out of range, for one row when its own denominator is.
//
// Sums of features are all at least leastSum: what underflowed in a feature of a key
// is then less than 2^(−100) of its sum. Neither they nor denominators exceed
// greatestSum: numerators are in range for float32 values up to 2⁸⁰.
const (
	leastSum    = 0x1p-20
	greatestSum = 0x1p40
)

// isELU reports whether a map has the features elu+1: an addition, mostly, where the
// logarithm is one.
func isELU[T dense.Float](m rff.Map[T]) bool {
	_, ok := m.Kernel().(kernels.ELU)
	return ok
}

func inRange[T dense.Float](sum T) bool { return leastSum <= sum && sum <= greatestSum }

// allInRange reports whether the sums of every feature over the keys are.
func (acc *accumulator[T]) allInRange() bool {
	sums := acc.sums()
	for f := range sums.Rows {
		if !inRange(sums.Row(f)[sums.Cols-1]) {
			return false
		}
	}
	return true
}

// amend answers those of the queries again whose denominator is out of range.
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
