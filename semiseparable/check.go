package semiseparable

// check returns an error if the result or an argument is not finite. name is what
// the error calls x.
//
// All but the diagonal reaches Z, because the product does not let a zero hide NaN or ±Inf:
// such a row of the solution (of X, in a product) or of right spoils Z at once, such
// a row of left the result, and in a solution Z thereby. Looking at Z when all is done,
// and at the result of a product, is therefore enough to know that all is well.
func (s *pass[T]) check(name string) error {
	sound := s.Q.Cols > 0
	for i := range s.groups {
		sound = sound && finite(s.groups[i].z.Data)
	}
	if sound && (s.solving || allFinite(s.dst)) {
		return nil
	}
	if err := checkFiniteParts(s.Diag, s.Q, s.K); err != nil {
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
