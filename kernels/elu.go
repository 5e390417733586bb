package kernels

import "math"

// ELU is the kernel k(x, y) = φ(x)ᵀφ(y) of linear attention, where φ maps every coordinate t to t +
// 1 for t ≥ 0 and to e^t for t < 0 [Katharopoulos et al. 2020].
type ELU struct{}

func (k ELU) Eval(x, y []float64) float64 {
	checkLengths(x, y)
	var s float64
	for i, v := range x {
		s += elu1(v) * elu1(y[i])
	}
	return s
}

func (k ELU) String() string { return "ELU{}" }

// (e^t − 1) + 1 loses digits for t < 0.
func elu1(t float64) float64 {
	switch {
	case math.IsInf(t, -1):
		return math.NaN()
	case t < 0:
		return math.Exp(t)
	}
	return t + 1
}
