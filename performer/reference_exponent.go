package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// none is the reference exponent of a feature that no key has had yet.
const none = math.MinInt64

// maxExponent bounds |N_f| as a number of powers of two, and maxLog is what it stands
// for. A float32 of this size is accurate to 8 only.
const (
	maxExponent = 1 << 27
	maxLog      = maxExponent * math.Ln2
)

// exponentOf returns the exponent of the finite x, which grows with x. For |x| ≤ maxLog it
// is the least integer N with x ≤ N·ln 2. Beyond, it is far: maxExponent and the place of
// |x| among the numbers of float64 above maxLog, with the sign of x.
func exponentOf(x float64) int64 {
	if math.Abs(x) <= maxLog {
		return int64(math.Ceil(x / math.Ln2))
	}
	n := maxExponent + int64(math.Float64bits(math.Abs(x))-math.Float64bits(maxLog))
	if x < 0 {
		return -n
	}
	return n
}

// isFar reports whether n is the exponent of a number beyond ±maxLog.
func isFar(n int64) bool { return n != none && (n < -maxExponent || n > maxExponent) }

// logOf returns what an exponent other than none stands for: N·ln 2, or the number
// itself that has the far exponent n.
func logOf(n int64) float64 {
	if !isFar(n) {
		return float64(n) * math.Ln2
	}
	if n < 0 {
		return -logOf(-n)
	}
	return math.Float64frombits(math.Float64bits(maxLog) + uint64(n-maxExponent))
}

// isExponent reports whether a feature can have the exponent n: none, an integer within
// ±maxExponent, or a far one of a finite number of T.
func isExponent[T dense.Float](n int64) bool {
	if !isFar(n) {
		return true
	}
	if uint64(max(n, -n)-maxExponent) > math.Float64bits(math.MaxFloat64)-math.Float64bits(maxLog) {
		return false
	}
	x := logOf(n)
	return float64(T(x)) == x
}

// lowering returns what sums under the exponent from are multiplied by under a greater
// exponent to: 2^(from−to), or exp of what lies between them if one of them is far; zero
// where that is too small for T.
func lowering[T dense.Float](from, to int64) T {
	if isFar(from) || isFar(to) {
		return T(math.Exp(logOf(from) - logOf(to)))
	}
	return T(math.Ldexp(1, int(from-to)))
}
