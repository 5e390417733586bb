package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/stream"
)

// Merge takes in all tokens of another State, so that a stream can be summarised in
// parts; other is left as it is. The order of parts does not matter but for rounding.
// It returns an error, and changes nothing, if other is nil, differs in the number of
// heads or the dimension of values, or belongs to other features, as Check has it, and if
// both have more tokens than half of what an int counts.
func (s *State[T]) Merge(other *State[T]) error {
	switch {
	case s.a == nil:
		return errNoState
	case other == nil:
		return errors.New("performer: other is nil")
	case other.a == nil:
		return errNoState
	case len(other.heads) != len(s.heads) || other.dv != s.dv:
		return fmt.Errorf("performer: other has %d heads and values of dimension %d, the state %d heads and values of dimension %d",
			len(other.heads), other.dv, len(s.heads), s.dv)
	}
	if err := s.Check(other.a); err != nil {
		return err
	}
	if err := stream.CheckMerge(s.n, other.n); err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	s.settle()
	for h, acc := range s.heads {
		from := other.heads[h]
		acc.mergeFeatures(from, 0, acc.m)
		if other.fresh > 0 && other.recent != nil {
			acc.mergeFeatures(&accumulator[T]{ref: from.ref, sum: other.recent[h], m: from.m}, 0, acc.m)
		}
	}
	s.n += other.n
	return nil
}

// Check returns nil if s belongs to the features of a, and otherwise an error that
// says what differs. Features count as the same if the maps give the same numbers,
// to rounding, at a few fixed points: so they may have been made twice, of the same
// seed, or by another architecture. Points being few, and some features at the
// mercy of rounding, Check misses a difference in less than one feature in 16 or by
// less than 2⁻¹⁴ of it in float32, 2⁻⁴⁰ in float64.
func (s *State[T]) Check(a *Attention[T]) error {
	switch {
	case s.a == nil:
		return errNoState
	case a == nil:
		return errors.New("performer: a is nil")
	case a == s.a:
		return nil
	case a.d != s.a.d || a.m != s.a.m:
		return fmt.Errorf("performer: %d features of R^%d, but the state belongs to %d features of R^%d", a.m, a.d, s.a.m, s.a.d)
	case (a.logKey != nil) != (s.a.logKey != nil):
		return errors.New("performer: logarithms of features cannot be added to features: the state belongs to others")
	case a.opts.Unnormalised != s.a.opts.Unnormalised:
		return fmt.Errorf("performer: Unnormalised = %v, but the state belongs to attention with %v", a.opts.Unnormalised, s.a.opts.Unnormalised)
	}
	return s.a.checkMarks(a.marks())
}

// marks returns the marks of the (log-)features that sums are made of.
func (a *Attention[T]) marks() []float64 {
	return stream.Of(&a.fingerprint, a.d, a.m, a.mapQueries, a.mapKeys)
}

// checkMarks returns an error unless these are the marks of a.
func (a *Attention[T]) checkMarks(marks []float64) error {
	if err := stream.CheckMarks[T](a.marks(), marks); err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	return nil
}
