package semiseparable

// NaN and ±Inf in all arguments but the diagonal spread to Z, because a product with zero keeps
// them: rows of right and of the solution reach Z, and rows of left the solution.
func (s *solvePass[T]) check() error {
	sound := s.Q.Cols > 0
	for i := range s.groups {
		sound = sound && finite(s.groups[i].z.Data)
	}
	if sound {
		return nil
	}
	if err := checkArguments(s.Diag, s.Q, s.K); err != nil {
		return err
	}
	switch {
	case s.fault != nil:
		return s.fault
	case !s.aliased:
		if err := checkFinite("v", s.v); err != nil {
			return err
		}
	}
	return checkResult(s.dst, s.transposed)
}
