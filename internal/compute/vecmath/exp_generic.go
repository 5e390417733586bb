package vecmath

import "math"

func expReference[T Float](dst, x []T) {
	for i, v := range x {
		dst[i] = T(expOf(float64(v)))
	}
}

func expMinusReference[T Float](dst, x []T, c T) {
	for i, v := range x {
		dst[i] = T(expOf(float64(v - c)))
	}
}

func expDiffReference[T Float](dst, x, a, b []T) {
	for i, v := range x {
		dst[i] = T(expOf(float64(v - a[i] - b[i])))
	}
}

func expRelativeReference[T Float](dst, x []T, x0 T, a []T, a0 T, b []T, b0 T) {
	for i, v := range x {
		dst[i] = T(expOf(float64((v - x0) + ((a[i] - a0) + (b[i] - b0)))))
	}
}

func eluReference[T Float](dst, x []T) {
	for i, v := range x {
		if v >= 0 {
			dst[i] = v + 1
		} else {
			// v − v is NaN for −Inf and 0 for every number.
			dst[i] = T(expOf(float64(v))) + (v - v)
		}
	}
}

// expOf returns e^x = 2^n·e^r, where r = x − n·ln 2, |r| ≤ ½ln 2, with an error
// below 1.5 ulp.
func expOf(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 710:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	// The first term of ln 2 has 21 trailing zeros: its product with n is exact, and
	// so is the difference.
	const (
		ln2High = 0x1.62e42feep-1
		ln2Low  = 0x1.a39ef35793c76p-33
	)
	n := math.Floor(x*math.Log2E + 0.5)
	r := (x - n*ln2High) - n*ln2Low
	p := 0.00019841269917801008 + r*(2.4801489590691812e-05+r*(2.7557215925045976e-06+r*(2.7631413764627014e-07+r*2.511798098127451e-08)))
	p = 0.5000000000000013 + r*(0.166666666666667+r*(0.04166666666651432+r*(0.008333333333307014+r*(0.0013888888947331042+r*p))))
	p = 1 + r*(1+r*p)
	// Two factors reach all results, and at most the second product is rounded.
	half := int(n) >> 1
	return p * power(half) * power(int(n)-half)
}

// power returns 2^n for −1022 ≤ n ≤ 1023.
func power(n int) float64 { return math.Float64frombits(uint64(n+1023) << 52) }

func log1pReference[T Float](dst, x []T) {
	for i, v := range x {
		dst[i] = T(math.Log1p(float64(v)))
	}
}

func logELUReference[T Float](dst, x []T) {
	for i, v := range x {
		if v >= 0 {
			dst[i] = T(math.Log1p(float64(v)))
		} else {
			// v − v is NaN for −Inf and 0 for every number.
			dst[i] = v + (v - v)
		}
	}
}
