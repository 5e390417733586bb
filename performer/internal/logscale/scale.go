package logscale

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Scale is the positive number Factor·2^Exponent with an integer Exponent of any size.
type Scale struct{ Factor, Exponent float64 }

// NewScale returns exp(log)·2^exponent for an exponent that is not extreme. log may be ±Inf.
func NewScale(log float64, exponent int64) Scale {
	const (
		bound = 0x1p127         // the largest exponent: a float32 must hold it
		high  = 0x1.62e42feep-1 // n·high is exact for |n| ≤ 2²¹
		low   = math.Ln2 - high
	)
	n := math.RoundToEven(min(max(log/math.Ln2, -bound), bound))
	rest := min(max((log-n*high)-n*low, -1), 1)
	return Scale{Factor: math.Exp(rest), Exponent: n + float64(exponent)}
}

// Float64 returns s as a float64, 0 or +Inf if it is out of range.
func (s Scale) Float64() float64 { return Ldexp(s.Factor, s.Exponent) }

// Ldexp returns x·2^n for an integer n of any size, or −Inf.
func Ldexp(x, n float64) float64 {
	const enough = 1 << 13 // takes every float64 out of range
	return math.Ldexp(x, int(min(max(n, -enough), enough)))
}

// Multiply multiplies x by s. Results beyond the range of T become ±Inf or zero.
func Multiply[T dense.Float](x []T, s Scale) {
	const least, greatest = 0x1p-100, 0x1p100
	if f := s.Float64(); least <= f && f <= greatest {
		vecmath.Scale(x, T(f))
		return
	}
	for j := range x {
		x[j] = T(Ldexp(float64(x[j])*s.Factor, s.Exponent)) + 0
	}
}
