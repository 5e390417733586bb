package logscale

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// None is the reference exponent of a feature that no key has had yet.
const None = math.MinInt64

// maxExponent bounds |N_f| as a number of powers of two, and maxLog is the logarithm of 2 to that
// power. A float32 of this size is accurate to 8 only.
const (
	maxExponent = 1 << 27
	maxLog      = maxExponent * math.Ln2
)

// ExponentOf returns the exponent of the finite x, which grows with x. For |x| ≤ maxLog it is the
// least integer N with x ≤ N·ln 2. For larger |x| the exponent is extreme: maxExponent plus the
// number of float64 numbers from maxLog to |x|, with the sign of x.
func ExponentOf(x float64) int64 {
	if math.Abs(x) <= maxLog {
		return int64(math.Ceil(x / math.Ln2))
	}
	n := maxExponent + int64(math.Float64bits(math.Abs(x))-math.Float64bits(maxLog))
	if x < 0 {
		return -n
	}
	return n
}

// IsExtreme reports whether n is the exponent of a number beyond ±maxLog.
func IsExtreme(n int64) bool { return n != None && (n < -maxExponent || n > maxExponent) }

// LogOf returns n·ln 2 for n other than [None], or the x with the extreme exponent n.
func LogOf(n int64) float64 {
	if !IsExtreme(n) {
		return float64(n) * math.Ln2
	}
	if n < 0 {
		return -LogOf(-n)
	}
	return math.Float64frombits(math.Float64bits(maxLog) + uint64(n-maxExponent))
}

// IsExponent reports whether a feature can have the exponent n: [None], an integer within
// ±maxExponent, or the extreme exponent of a finite number of T.
func IsExponent[T dense.Float](n int64) bool {
	if !IsExtreme(n) {
		return true
	}
	if uint64(max(n, -n)-maxExponent) > math.Float64bits(math.MaxFloat64)-math.Float64bits(maxLog) {
		return false
	}
	x := LogOf(n)
	return float64(T(x)) == x
}

// Lowering returns the factor of sums whose exponent grows from from to to: 2^(from−to), or exp of
// the difference of the logarithms if one exponent is extreme. The factor is zero if it is too
// small for T.
func Lowering[T dense.Float](from, to int64) T {
	if IsExtreme(from) || IsExtreme(to) {
		return T(math.Exp(LogOf(from) - LogOf(to)))
	}
	return T(math.Ldexp(1, int(from-to)))
}
