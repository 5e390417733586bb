package vecmath

import "math"

func cosReference[T Float](dst, x []T) {
	for i, v := range x {
		dst[i] = T(cosOf(float64(v)))
	}
}

func sincosReference[T Float](sines, cosines, x []T) {
	for i, v := range x {
		s, c := sincosOf(float64(v))
		sines[i], cosines[i] = T(s), T(c)
	}
}

// cosOf returns cos x.
func cosOf(x float64) float64 {
	_, c := sincosOf(x)
	return c
}

// sincosOf returns sin x and cos x with errors below 1 ulp.
func sincosOf(x float64) (s, c float64) {
	a := math.Abs(x)
	if !(a <= math.MaxFloat64) {
		return math.NaN(), math.NaN()
	}
	quadrant, hi, lo := uint64(0), a, 0.0
	if a > math.Pi/4 {
		quadrant, hi, lo = reduce(a)
	}
	z := hi * hi
	s, c = sine(hi, lo, z), cosine(hi, lo, z)
	if quadrant&1 != 0 {
		s, c = c, -s
	}
	if quadrant&2 != 0 {
		s, c = -s, -c
	}
	// From |x| on, a sine of −0 gets its sign like all others.
	if math.Signbit(x) {
		s = -s
	}
	return s, c
}

// sine returns sin(hi + lo) for |hi| ≤ π/4, given z = hi². The polynomial is
// minimax relative to the sine and wrong by 2^−57.
func sine(hi, lo, z float64) float64 {
	q := -0.1666666666666663 + z*(0.008333333333322118+z*(-0.00019841269829589428+z*(2.7557313621345438e-06+
		z*(-2.5050747756332126e-08+z*1.5896229767405e-10))))
	return hi + (hi*z*q + lo*(1-z/2))
}

// cosine returns cos(hi + lo) for |hi| ≤ π/4, given z = hi². The polynomial is
// minimax relative to the cosine and wrong by 2^−63.
func cosine(hi, lo, z float64) float64 {
	q := 0.041666666666666595 + z*(-0.0013888888888873056+z*(2.480158728885158e-05+z*(-2.7557314179258925e-07+
		z*(2.08757008367154e-09-z*1.1358536243065947e-11))))
	h := z / 2
	w := 1 - h
	return w + ((1 - w - h) + (z*z*q - hi*lo))
}
