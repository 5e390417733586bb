package semiseparable

// check returns an error if the result or an argument is not finite. name is the name of x in the
// error.
//
// check looks at Z after the last chunk, and at the result of a product. NaN and ±Inf in all
// arguments but the diagonal spread to these, because a product with zero keeps them. A row of
// right or of the solution (of X, in a product) that is not finite makes Z not finite. Such a row
// of left makes the result not finite, and a solution makes Z not finite in turn.
func (s *pass[T]) check(name string) error {
	sound := s.Q.Cols > 0
	for i := range s.groups {
		sound = sound && finite(s.groups[i].z.Data)
	}
	if sound && (s.solving || checkResult(s.dst, false) == nil) {
		return nil
	}
	if err := checkArguments(s.Diag, s.Q, s.K); err != nil {
		return err
	}
	switch {
	case s.fault != nil:
		s.fault.Argument = name
		return s.fault
	case !s.aliased:
		if err := checkFinite(name, s.x); err != nil {
			return err
		}
	}
	return checkResult(s.dst, s.transposed)
}
