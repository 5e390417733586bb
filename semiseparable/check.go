package semiseparable

// check returns an error if the result or an argument is not finite. name is the name of x in the
// error.
//
// A check of Z at the end, and of the result of a product, is enough: NaN and ±Inf in all but the
// diagonal reach them, because products let no zero hide NaN or ±Inf. A row of the solution (of X,
// in a product) or of right that is not finite spoils Z at once. Such a row of left spoils the
// result, and in a solution thereby Z.
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
