package kernels

import "math"

// ELU is the kernel k(x, y) = φ(x)ᵀφ(y) of linear attention, where φ maps every coordinate t to t +
// 1 for t ≥ 0 and to e^t for t < 0 [Katharopoulos et al. 2020]. ELU has values in (0, ∞), and is
// NaN if a coordinate of x or y is −Inf.
type ELU struct{}

// Eval returns the ELU kernel of x and y, and panics if x and y differ in length.
func (k ELU) Eval(x, y []float64) float64 {
	checkLengths(x, y)
	var s float64
	for i, v := range x {
		s += elu1(v) * elu1(y[i])
	}
	return s
}

// String returns the kernel as a literal of Go.
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
