package quantise

import "math"

// unequal is a ratio of norms. Below it, storedError adds less than 1 % to a standard error.
const unequal = 1 << 7

// storedError returns the standard deviation of the part of the error of an estimate that is not of
// codes: the numbers beside codes and the rotations of float32 are rounded, and so are sums in
// float64. It returns 0 where the part is too small to matter. The part may exceed the error of codes
// if row and query are far from the origin, and in distances of vectors of unequal norms.
func (x *Query) storedError(s *shift, n *numbers, value float64) float64 {
	norm, t := x.norm, 0.0
	if s != nil {
		norm, t = s.norm, s.t
	}
	if x.exponent != 0 {
		norm, t = math.Ldexp(norm, x.exponent), math.Ldexp(t, x.exponent)
	}
	far, rotation, part := s != nil && s.far, 0.0, 0.0
	if len(x.single) > 0 {
		rotation = rotationError
	}
	switch {
	case x.by == SquaredDistance && (far || n.norm > unequal*norm):
		part = bothErrors(2*n.norm*roundoff(n.norm), rotation*n.norm*n.norm)
		if far {
			part = bothErrors(part, 2*math.Abs(1-t)*roundoff(n.centreProduct))
		}
	case x.by == SquaredDistance && s == nil && x.exponent == 0 && norm > unequal*n.norm:
		return rotation * norm * norm // ‖q‖² of a shift or with an exponent is not that of a rotation
	case x.by == InnerProduct && far:
		part = math.Abs(t) * roundoff(n.centreProduct)
	case x.by == Cosine && s != nil:
		whole := s.fullNorm(n.norm, n.centreProduct)
		if !far && whole > unequal*n.norm {
			return rotation / 2 * math.Abs(value)
		}
		if far && whole > 0 {
			part = math.Abs(s.t-value*s.queryNorm/whole) / (whole * s.queryNorm) * roundoff(n.centreProduct)
		}
	}
	if far {
		part = bothErrors(part, 0x1p-53*math.Abs(value))
	}
	return part
}

// rotationError is the relative error that a rotation of float32 gives a squared norm: measured, in
// the dimensions where it is largest.
const rotationError = 0x1.8p-23

// roundoff returns the standard deviation of the error of rounding v to float32.
func roundoff(v float64) float64 {
	const even = 0.28867513459481287 // 1/√12, of errors between −½ and ½
	_, e := math.Frexp(v)
	return math.Ldexp(even, e-24)
}

// bothErrors returns √(a² + b²), with the same bits on every processor.
func bothErrors(a, b float64) float64 {
	large, small := max(a, b), min(a, b)
	if !(small > 0) || math.IsInf(large, 1) {
		return large
	}
	ratio := small / large
	return large * math.Sqrt(1+float64(ratio*ratio))
}
