package laws

import "math"

// ExponentialLaw is the law of features that estimate the Gaussian kernel K or, times
// e^(‖x‖²/2), the softmax kernel S: relative to the kernel both have the same error. The
// methods take and return what a Law does.
type ExponentialLaw struct {
	relative func(z pair, m int) product
}

// Gaussian is the law of the features of the Gaussian kernel.
func (l ExponentialLaw) Gaussian(x, y []float64, m int) float64 {
	return l.times(x, y, m, -1, 2)
}

// Softmax is the law of the features of the softmax kernel.
func (l ExponentialLaw) Softmax(x, y []float64, m int) float64 {
	return l.times(x, y, m, 0, 2)
}

// Relative is the law of both divided by the square of the kernel. It is finite also where
// the kernel is beyond the range of float64.
func (l ExponentialLaw) Relative(x, y []float64, m int) float64 {
	return l.times(x, y, m, 0, 0)
}

// times returns the relative error times exp(a·(‖x‖² + ‖y‖²) + b·xᵀy).
func (l ExponentialLaw) times(x, y []float64, m int, a, b float64) float64 {
	z := newPair(x, y, m)
	e := l.relative(z, m)
	e.norms += a
	e.dot += b
	return e.value(z)
}

// product is v·exp(norms·(‖x‖² + ‖y‖²) + dot·xᵀy + c), of factors that may be beyond the
// range of float64 where their product is not.
type product struct {
	v, norms, dot, c float64
}

func (e product) value(z pair) float64 {
	if e.v == 0 {
		return 0 // times e^Inf
	}
	// A quarter of an exponent within 2800 has an exponential, and beyond that no v
	// brings the product back. Every step goes from v towards the product.
	exponent := math.Max(-2800, math.Min(2800, z.form(e.norms, e.dot)+e.c))
	part := math.Exp(exponent / 4)
	v := e.v
	for range 4 {
		v *= part
	}
	return v
}
