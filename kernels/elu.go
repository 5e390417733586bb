package kernels

import "math"

// ELU is the kernel k(x, y) = φ(x)ᵀφ(y), where φ = elu + 1 acts on every coordinate: φ(t) = t + 1
// for t ≥ 0 and e^t for t < 0, a similarity of queries and keys [Katharopoulos et al. 2020].
// Positive semi-definite on R^d, of rank at most d; range (0, ∞). The coordinate −Inf gives NaN.
type ELU struct{}

// Eval returns φ(x)ᵀφ(y) in O(d). Eval panics if the lengths differ.
func (k ELU) Eval(x, y []float64) float64 {
	checkLengths(x, y)
	var s float64
	for i, v := range x {
		s += elu1(v) * elu1(y[i])
	}
	return s
}

// String returns the kernel as it is written in Go.
func (k ELU) String() string { return "ELU{}" }

// elu1 returns elu(t) + 1. For t < 0 this is e^t itself, because (e^t − 1) + 1 loses digits.
func elu1(t float64) float64 {
	switch {
	case math.IsInf(t, -1):
		return math.NaN()
	case t < 0:
		return math.Exp(t)
	}
	return t + 1
}
