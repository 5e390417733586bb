package quantise

import "math"

// numbers are what is stored beside the code of a row, 0 for the columns that the layout lacks.
type numbers struct {
	norm, ratio, variance, centreProduct, codedProduct float64
}

func (b *codeBlock) numbersAt(i int) numbers {
	var all [columns]float32
	for k, v := range b.numbers {
		if v != nil {
			all[k] = v[i]
		}
	}
	return numbersOf(all)
}

func numbersOf(c [columns]float32) numbers {
	return numbers{float64(c[norms]), float64(c[ratios]), float64(c[variances]), float64(c[centreProducts]), float64(c[codedProducts])}
}

func (x *Query) estimate(s *shift, product float32, n *numbers) Estimate {
	cosine := x.cosine(s, product, n)
	e := Estimate{Value: x.value(s, n, cosine)}
	norm := x.norm
	if s != nil {
		norm = s.norm
	}
	if n.norm == 0 || norm == 0 || x.norm != x.norm {
		e.StdErr = 0 * x.norm // NaN for a query that is not finite, as the value is
		if x.z > 0 {
			e.Low, e.High = e.Value, e.Value
		}
		return e
	}
	one := x.roundedOf(s)
	rounding := one.rounding * x.relative(s)
	variance := x.varianceOf(n)
	across := variance * one.perDimension
	within := one.within(s, n)
	e.StdErr = math.Sqrt(float64(within*one.averageOf(cosine/math.Sqrt(within), across/within, n.ratio)) + float64(rounding*rounding*(1+variance)))
	scale := 1.0
	switch {
	case x.by != Cosine:
		scale = n.norm * norm
	case s != nil:
		scale = 0
		if whole := s.fullNorm(n.norm, n.centreProduct) * s.queryNorm; whole > 0 {
			scale = n.norm * norm / whole
		}
	}
	if x.by == SquaredDistance {
		scale *= 2
	}
	e.StdErr *= scale
	stored := x.storedError(s, n, e.Value)
	e.StdErr = bothErrors(e.StdErr, stored)
	if x.z > 0 {
		law, rounding := x.errorBound(s, x.z, x.varianceOf(n), x.roundedOf(s).biasOf(n.ratio))
		slack := 8 * stored // numbers that are rounded evenly differ by at most √3 standard errors
		if s != nil {
			slack += x.roundingBound(s, n)
		}
		if x.by == Cosine {
			slack = min(slack, 1+math.Abs(e.Value))
		}
		e.Low = x.value(s, n, -withRoundings(one.upperCosine(rounding-cosine, law))) - slack
		e.High = x.value(s, n, withRoundings(one.upperCosine(cosine+rounding, law))) + slack
		if x.by == SquaredDistance {
			e.Low, e.High = e.High-2*slack, e.Low+2*slack
		}
	}
	return e
}

// cosine returns the estimate of the cosine of x − c and q − tc, or of x and q if s is nil, from
// the product of sᵀ and x.roundedOf(s), which is divided by its norm. Conversions of products keep
// the compiler from fusing products and sums.
func (x *Query) cosine(s *shift, product float32, n *numbers) float64 {
	cosine := float64(float64(product) * n.ratio)
	switch {
	case s == nil, s.far && n.norm > 0:
		return cosine
	case n.norm > 0 && s.norm > 0:
		return (float64(cosine*x.norm) - s.t*n.codedProduct/n.norm) / s.norm
	}
	return 0
}

func (x *Query) value(s *shift, n *numbers, cosine float64) float64 {
	if s != nil {
		return x.centredValue(s, n, cosine)
	}
	norm := n.norm
	if norm == 0 {
		cosine = 0
	}
	switch x.by {
	case InnerProduct:
		return norm * x.norm * cosine
	case SquaredDistance:
		return float64(norm*norm) + float64(x.norm*x.norm) - float64(2*norm*x.norm*cosine)
	}
	if x.norm != x.norm {
		return x.norm
	}
	return cosine
}

// centredValue returns the estimate of a measure for a row x from the estimate of the cosine of x −
// c and q − tc.
func (x *Query) centredValue(s *shift, n *numbers, cosine float64) float64 {
	if x.norm != x.norm {
		return x.norm
	}
	product := 0.0
	if n.norm > 0 && s.norm > 0 {
		product = float64(n.norm * s.norm * cosine)
	}
	switch x.by {
	case SquaredDistance:
		return float64(n.norm*n.norm) + s.distance + float64(2*s.short*n.centreProduct) - 2*product
	case Cosine:
		whole := s.fullNorm(n.norm, n.centreProduct) * s.queryNorm
		if whole == 0 {
			return 0
		}
		return (s.product + float64(s.t*n.centreProduct) + product) / whole
	}
	return s.product + float64(s.t*n.centreProduct) + product
}

// averageOf returns the mean squared error of the estimate of a cosine, from that of a cosine of 0.
// An error of one rotation is proportional to √(1−ρ²). An estimate near 1 tells little of 1 − ρ².
// Errors of several bands have no such factor, because the bands with the largest errors may have
// cosines near 0. Codes of 1 bit do not tell the error of a row that has little in bands with bits:
// at random places, the bias of d coordinates is its bound over √d.
func (r *rounded) averageOf(cosine, across, ratio float64) float64 {
	if r.several {
		bias := r.biasOf(ratio)
		return max(across, float64(bias*bias)/r.coordinates)
	}
	return float64(max(1-float64(cosine*cosine), leastShare*across) * across)
}

// leastShare·across² is the mean squared error of an estimate of 1 if all ρ near 1 are equally
// likely. The error then has the variance 2(1−ρ)·across, so that ρ, given an estimate of 1, has a
// density proportional to exp(−(1−ρ)/(4·across))/√(1−ρ).
const leastShare = 12

// within returns the part of ‖x − c‖² in the directions of one band. About the mean c of Learn, the
// band lacks the direction of c.
func (r *rounded) within(s *shift, n *numbers) float64 {
	if r.several || s == nil || !s.learned {
		return 1
	}
	along := n.centreProduct / (s.size * n.norm)
	return max(1-float64(along*along), roundings)
}

func (r *rounded) biasOf(ratio float64) float64 {
	if !r.several {
		return 0
	}
	return r.bias * biasBounds[math.Float32bits(float32(ratio))&biasBits]
}

// varianceOf returns ‖s‖²/(sᵀu)² − 1 of a row, or with bands the result of combine.
func (x *Query) varianceOf(n *numbers) float64 {
	if x.bit > 0 {
		return max(0, float64(x.bit*n.ratio*n.ratio)-x.less)
	}
	return n.variance
}

// relative returns the factor of the rounding error: ‖q‖/‖q − tc‖, or 1 if q − tc is rounded.
func (x *Query) relative(s *shift) float64 {
	if s == nil || s.far {
		return 1
	}
	return x.norm / s.norm
}

// unequal is a ratio of norms. Below it, storedError adds less than 1 % to a standard error.
const unequal = 1 << 7

// storedError returns the standard deviation of the part of the error of an estimate that is not of
// codes: the numbers beside codes and the rotations of float32 are rounded, and so are sums in
// float64. It returns 0 where the part is too small to matter. The part may exceed the error of
// codes if row and query are far from the origin, and in distances of vectors of unequal norms.
func (x *Query) storedError(s *shift, n *numbers, value float64) float64 {
	norm, t := x.norm, 0.0
	if s != nil {
		norm, t = s.norm, s.t
	}
	far, rotation, part := s != nil && s.far, x.rotation, 0.0
	switch {
	case x.by == SquaredDistance && (far || n.norm > unequal*norm):
		part = bothErrors(2*n.norm*roundoff(n.norm), rotation*n.norm*n.norm)
		if far {
			part = bothErrors(part, 2*math.Abs(1-t)*roundoff(n.centreProduct))
		}
	// ‖q‖² of a shift is not that of a rotation
	case x.by == SquaredDistance && s == nil && norm > unequal*n.norm:
		return rotation * norm * norm
	case x.by == InnerProduct && far:
		part = math.Abs(t) * roundoff(n.centreProduct)
	case x.by == Cosine && s != nil:
		whole := s.fullNorm(n.norm, n.centreProduct)
		if !far && whole > unequal*n.norm {
			return rotation / 2 * math.Abs(value)
		}
		if !far {
			break
		}
		short := s.normError(n, whole)
		if short > unknown {
			return max(1, math.Abs(value))
		}
		part = math.Abs(s.t-value*s.queryNorm/whole) / (whole * s.queryNorm) * roundoff(n.centreProduct)
		part = bothErrors(part, short/2*math.Abs(value))
	}
	if far {
		part = bothErrors(part, 0x1p-53*math.Abs(value))
	}
	return part
}

// normError returns the relative standard deviation of the square of fullNorm, which is large for a
// row far shorter than c. Beyond unknown, the cosine of the row may be any.
func (s *shift) normError(n *numbers, whole float64) float64 {
	return 2 * bothErrors(n.norm*roundoff(n.norm), roundoff(n.centreProduct)) / (whole * whole)
}

const unknown = 1. / 8

// rotationError is the largest measured relative error of a squared norm after rotation in float32.
const rotationError = 0x1.8p-23

func roundoff(v float64) float64 {
	const even = 0.28867513459481287 // 1/√12, of errors between −½ and ½
	if v == 0 {
		return 0
	}
	_, e := math.Frexp(v)
	return math.Ldexp(even, e-24)
}

func bothErrors(a, b float64) float64 {
	large, small := max(a, b), min(a, b)
	if !(small > 0) || math.IsInf(large, 1) {
		return large
	}
	ratio := small / large
	return large * math.Sqrt(1+float64(ratio*ratio))
}
