package logscale

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// None is the reference exponent of a feature that no key has had yet.
const None = math.MinInt64

// maxExponent bounds |N_f| as a number of powers of two, and maxLog is what it stands
// for. A float32 of this size is accurate to 8 only.
const (
	maxExponent = 1 << 27
	maxLog      = maxExponent * math.Ln2
)

// ExponentOf returns the exponent of the finite x, which grows with x. For |x| ≤ maxLog it
// is the least integer N with x ≤ N·ln 2. Beyond, it is far: maxExponent and the place of
// |x| among the numbers of float64 above maxLog, with the sign of x.
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

// IsFar reports whether n is the exponent of a number beyond ±maxLog.
func IsFar(n int64) bool { return n != None && (n < -maxExponent || n > maxExponent) }

// LogOf returns what an exponent other than [None] stands for: N·ln 2, or the number
// itself that has the far exponent n.
func LogOf(n int64) float64 {
	if !IsFar(n) {
		return float64(n) * math.Ln2
	}
	if n < 0 {
		return -LogOf(-n)
	}
	return math.Float64frombits(math.Float64bits(maxLog) + uint64(n-maxExponent))
}

// IsExponent reports whether a feature can have the exponent n: [None], an integer within
// ±maxExponent, or a far one of a finite number of T.
func IsExponent[T dense.Float](n int64) bool {
	if !IsFar(n) {
		return true
	}
	if uint64(max(n, -n)-maxExponent) > math.Float64bits(math.MaxFloat64)-math.Float64bits(maxLog) {
		return false
	}
	x := LogOf(n)
	return float64(T(x)) == x
}

// Lowering returns what sums under the exponent from are multiplied by under a greater
// exponent to: 2^(from−to), or exp of what lies between them if one of them is far; zero
// where that is too small for T.
func Lowering[T dense.Float](from, to int64) T {
	if IsFar(from) || IsFar(to) {
		return T(math.Exp(LogOf(from) - LogOf(to)))
	}
	return T(math.Ldexp(1, int(from-to)))
}
