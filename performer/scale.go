package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// scale is the positive number factor·2^exponent, whose range is far beyond
// that of a float64.
type scale struct {
	factor   float64
	exponent int
}

// newScale returns exp(log)·2^exponent for a finite log.
func newScale(log float64, exponent int32) scale {
	const (
		bound = 4 * maxExponent // beyond it exp is 0 or Inf, whatever exponent is
		high  = 0x1.62e42feep-1 // n·high is exact for |n| ≤ 2²¹
		low   = math.Ln2 - high
	)
	n := math.RoundToEven(min(max(log/math.Ln2, -bound), bound))
	rest := min(max((log-n*high)-n*low, -1), 1)
	return scale{factor: math.Exp(rest), exponent: int(n) + int(exponent)}
}

// applyScale sets dst to x times s. A zero becomes +0, and only what is beyond the
// range of T becomes ±Inf or zero.
func applyScale[T dense.Float](dst, x []T, s scale) {
	for j := range dst {
		dst[j] = T(math.Ldexp(float64(x[j])*s.factor, s.exponent)) + 0
	}
}

// powerOfTwo returns 2^n, or zero where that is too small for T.
func powerOfTwo[T dense.Float](n int32) T {
	return T(math.Ldexp(1, int(n)))
}
