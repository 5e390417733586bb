package recurrence_test

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

func sum(x []int) int {
	n := 0
	for _, y := range x {
		n += y
	}
	return n
}

// hasDecays and hasBeta report what tokens of a rule need.

func hasDecays(r recurrence.Rule) bool {
	return r == recurrence.Gated || r == recurrence.GatedDelta
}

func hasBeta(r recurrence.Rule) bool {
	return r == recurrence.Delta || r == recurrence.GatedDelta
}

// rowsOf returns the rows lo ≤ i < hi of the matrices that there are.
func rowsOf[T dense.Float](x recurrence.Tokens[T], lo, hi int) recurrence.Tokens[T] {
	x.Lengths = nil
	for _, m := range []*dense.Matrix[T]{&x.Q, &x.K, &x.V, &x.Decay, &x.Beta} {
		if m.Rows > 0 {
			*m = m.RowRange(lo, hi)
		}
	}
	return x
}

// finiteRows reports whether all elements of m are finite.
func finiteRows[T dense.Float](m dense.Matrix[T]) bool {
	for i := range m.Rows {
		for _, x := range m.Row(i) {
			if x-x != 0 {
				return false
			}
		}
	}
	return true
}
