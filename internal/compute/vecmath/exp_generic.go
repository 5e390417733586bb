package vecmath

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

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

func maternReference[T Float](x []T, a T, b []T, c, p, q T) {
	for i, v := range x {
		s := a * ((v + b[i]) + c)
		if s < 0 {
			s = 0
		}
		r := T(math.Sqrt(float64(s)))
		x[i] = ((T(q*s) + T(p*r)) + 1) * T(expOf(float64(-r)))
	}
}

// expOf returns e^x = 2^n·e^r, where r = x − n·ln 2, |r| ≤ ½ln 2, with an error below 1.5 ulp.
func expOf(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 710:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	// The first term of ln 2 ends in 21 zeros: the product with n and the difference are exact.
	const (
		ln2High = 0x1.62e42feep-1
		ln2Low  = 0x1.a39ef35793c76p-33
	)
	n := math.Floor(x*math.Log2E + 0.5)
	r := (x - n*ln2High) - n*ln2Low
	p := 1 + r*(1+r*polynomial(minimax.Exp.Double, r))
	// Two factors reach all results, and at most the second product is rounded.
	half := int(n) >> 1
	return p * power(half) * power(int(n)-half)
}

func polynomial(c []float64, x float64) float64 {
	sum := 0.0
	for k := len(c) - 1; k >= 0; k-- {
		sum = c[k] + x*sum
	}
	return sum
}

func power(n int) float64 { return math.Float64frombits(uint64(n+1023) << 52) }

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
