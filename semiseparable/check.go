package semiseparable

// check looks at Z after the last chunk. NaN and ±Inf in all arguments but the diagonal spread to
// Z, because a product with zero keeps them: a row of right or of the solution that is not finite
// makes Z not finite, and such a row of left makes the solution not finite.
func (s *pass[T]) check() error {
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
