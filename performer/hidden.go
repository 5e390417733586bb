package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// hide makes the keys of the slot that are not valid count for nothing: their features
// become zero, which is −Inf as a logarithm, and so do their values, so that a NaN
// among them is not multiplied by that zero.
func (c *causal[T]) hide(s *slot[T]) {
	var nothing T
	if c.ref != nil {
		nothing = T(math.Inf(-1))
	}
	keys, values := s.keys.Rows(s.rows), s.values.Rows(s.rows)
	for i, counts := range c.valid[s.lo : s.lo+s.rows] {
		if !counts {
			fill(keys.Row(i), nothing)
			clear(values.Row(i))
		}
	}
}

// hide makes the keys that are not valid count for nothing: their scores become −Inf,
// and in the copy of the values that it returns theirs are zero.
func (t *tile[T]) hide(scores, values dense.Matrix[T], valid []bool) dense.Matrix[T] {
	t.values.Shape(tileKeys, values.Cols)
	kept := t.values.Rows(values.Rows)
	for j, counts := range valid {
		if counts {
			copy(kept.Row(j), values.Row(j))
		} else {
			fill(scores.Row(j), T(math.Inf(-1)))
			clear(kept.Row(j))
		}
	}
	return kept
}
