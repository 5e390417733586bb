package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// scale is the positive number factor·2^exponent with an integer exponent, whose range is far
// beyond that of a float64.
type scale struct{ factor, exponent float64 }

// newScale returns exp(log)·2^exponent for an exponent that is not far (see reference). log may be
// ±Inf.
func newScale(log float64, exponent int64) scale {
	const (
		bound = 0x1p127         // the largest exponent: a float32 must hold it
		high  = 0x1.62e42feep-1 // n·high is exact for |n| ≤ 2²¹
		low   = math.Ln2 - high
	)
	n := math.RoundToEven(min(max(log/math.Ln2, -bound), bound))
	rest := min(max((log-n*high)-n*low, -1), 1)
	return scale{factor: math.Exp(rest), exponent: n + float64(exponent)}
}

// float64 returns s as a float64, 0 or +Inf if it is out of range.
func (s scale) float64() float64 { return ldexp(s.factor, s.exponent) }

// ldexp returns x·2^n for an integer n of any size, or −Inf.
func ldexp(x, n float64) float64 {
	const enough = 1 << 13 // takes every float64 out of range
	return math.Ldexp(x, int(min(max(n, -enough), enough)))
}

// applyScale sets dst to x times s. A zero becomes +0. Only results beyond the range of T become
// ±Inf or zero.
func applyScale[T dense.Float](dst, x []T, s scale) {
	for j := range dst {
		dst[j] = T(ldexp(float64(x[j])*s.factor, s.exponent)) + 0
	}
}
