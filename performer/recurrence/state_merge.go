package recurrence

import (
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
)

func (s *state[T]) Merge(from State[T]) error {
	other, ok := from.(*state[T])
	switch {
	case from == nil || ok && other == nil:
		return errors.New("recurrence: other is nil")
	case !ok:
		return fmt.Errorf("recurrence: other is a %T, want a State of a Recurrence of this package", from)
	case s.r.opts.Rule.corrects():
		return fmt.Errorf("recurrence: states of the %v rule cannot be merged, as what a token writes depends on all before", s.r.opts.Rule)
	case other.d != s.d || other.dv != s.dv:
		return fmt.Errorf("recurrence: other has d = %d and dv = %d, the state d = %d and dv = %d", other.d, other.dv, s.d, s.dv)
	}
	if err := s.r.checkSame(other.r); err != nil {
		return err
	}
	if err := frame.CheckMerge(s.n, other.n); err != nil {
		return fmt.Errorf("recurrence: %w", err)
	}
	for f := range s.sums.Rows {
		factor := T(1)
		if s.past != nil {
			factor = T(math.Exp(other.past[f]))
			s.past[f] += other.past[f]
		}
		row := s.sums.Row(f)
		vecmath.Scale(row, factor)
		vecmath.AddScaled(row, other.sums.Row(f), 1)
	}
	s.n += other.n
	return nil
}

// checkSame returns an error unless sums of other mean the same under r.
func (r *recurrence[T]) checkSame(other *recurrence[T]) error {
	switch {
	case other == r:
		return nil
	case other.opts.Rule != r.opts.Rule:
		return fmt.Errorf("recurrence: the %v rule, but the state belongs to the %v rule", other.opts.Rule, r.opts.Rule)
	case other.heads != r.heads || other.keyHeads != r.keyHeads:
		return fmt.Errorf("recurrence: %d heads of queries and %d of keys, but the state belongs to %d and %d", other.heads, other.keyHeads, r.heads, r.keyHeads)
	case other.opts.NormaliseKeys != r.opts.NormaliseKeys:
		return fmt.Errorf("recurrence: NormaliseKeys = %v, but the state belongs to a recurrence with %v", other.opts.NormaliseKeys, r.opts.NormaliseKeys)
	case other.d != r.d || other.m != r.m:
		return fmt.Errorf("recurrence: %d features of R^%d, but the state belongs to %d features of R^%d", other.m, other.d, r.m, r.d)
	}
	return r.checkMarks(other.marks())
}

// checkMarks returns an error unless these are the marks of r.
func (r *recurrence[T]) checkMarks(marks []float64) error {
	if err := frame.CheckMarks[T](r.marks(), marks); err != nil {
		return fmt.Errorf("recurrence: %w", err)
	}
	return nil
}

// marks returns the marks of the features, none without maps.
func (r *recurrence[T]) marks() []float64 {
	if r.query == nil {
		return nil
	}
	return frame.Marks(&r.fingerprint, r.d, r.m, r.query.Transform, r.key.Transform)
}
