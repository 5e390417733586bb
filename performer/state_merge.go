package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
)

// Merge adds all tokens of another State of the same attention to s: streams can be summarised in
// pieces. other does not change. The order of the pieces matters only for rounding.
//
// Merge returns an error and does not change s if other is nil, if other differs in heads,
// dimensions or attention, or if both have more tokens than half of the largest int. Two maps are
// considered the same if their features agree to rounding at a few fixed points: a map may be made
// again from its seed, or on another architecture. Merge may overlook a difference in less than one
// feature in 16, and a difference of less than 2⁻¹⁴ of a feature in float32 or 2⁻⁴⁰ in float64.
func (s *State[T]) Merge(other *State[T]) error {
	switch {
	case s.units == nil:
		return errNoState
	case other == nil:
		return errors.New("performer: other is nil")
	case other.units == nil:
		return errNoState
	case other.heads != s.heads || other.keyHeads != s.keyHeads || other.d != s.d || other.dv != s.dv:
		return fmt.Errorf("performer: other has %d heads over %d with d = %d and dv = %d, the state %d heads over %d with d = %d and dv = %d",
			other.heads, other.keyHeads, other.d, other.dv, s.heads, s.keyHeads, s.d, s.dv)
	case len(other.units) != len(s.units):
		return fmt.Errorf("performer: other has %d runs of heads with one attention each, the state %d", len(other.units), len(s.units))
	}
	for i, u := range s.units {
		o := other.units[i]
		if o.from != u.from || o.to != u.to {
			return fmt.Errorf("performer: other has one attention for the heads %d to %d, the state for %d to %d", o.from, o.to-1, u.from, u.to-1)
		}
		if err := u.memory.Check(o.memory); err != nil {
			return err
		}
	}
	if err := frame.CheckMerge(s.n, other.n); err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	for i, u := range s.units {
		u.memory.Merge(other.units[i].memory)
	}
	s.n += other.n
	return nil
}
