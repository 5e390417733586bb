package kernels

import (
	"fmt"
	"math"
)

// AdditiveChiSquare is the kernel of histograms
//
//	k(x, y) = Σ 2x_i·y_i/(x_i + y_i),
//
// where a term is 0 if x_i and y_i are 0 [Vedaldi & Zisserman 2012]. k is the sum of the harmonic
// means, and ½‖x‖₁ + ½‖y‖₁ minus half the χ² distance Σ (x_i−y_i)²/(x_i+y_i). (scikit-learn gives
// the name to minus this distance. Its feature map estimates the kernel defined here.)
//
// Positive semi-definite on points with coordinates that are at least 0; homogeneous, k(cx, cy) =
// c·k(x, y), with k(x, x) = ‖x‖₁. A negative coordinate makes it NaN.
type AdditiveChiSquare struct{}

// Eval returns k(x, y) in O(d). It panics if the lengths differ.
func (k AdditiveChiSquare) Eval(x, y []float64) float64 {
	checkLengths(x, y)
	var sum float64
	for i, v := range x {
		low, high := min(v, y[i]), max(v, y[i])
		switch {
		case low < 0:
			sum = math.NaN()
		case high == 0:
		default:
			// Written so that no product overflows or underflows on the way.
			sum += low * (2 / (low/high + 1))
		}
	}
	// A bounded term does not show which of its points is infinite.
	if !math.IsNaN(sum) && !finite(x, y) {
		return math.NaN()
	}
	return sum
}

// String returns the kernel as it is written in Go.
func (k AdditiveChiSquare) String() string { return "AdditiveChiSquare{}" }

// SkewedChiSquare is the kernel of histograms
//
//	k(x, y) = Π 2√(x_i+c)·√(y_i+c)/(x_i + y_i + 2c) = Π sech((log(x_i+c) − log(y_i+c))/2),
//
// where c is C [Li, Ionescu & Sminchisescu 2010].
//
// Positive definite on points with coordinates above −c, because it is a function of log(x + c) −
// log(y + c) with a positive Fourier transform; range (0, 1]. A coordinate at or below −c makes it
// NaN.
type SkewedChiSquare struct {
	// C is c > 0, in units of x: coordinates much below C count as equal. Zero means 1.
	C float64
}

// Eval returns k(x, y) in O(d). It panics if the lengths differ or C is out of range.
func (k SkewedChiSquare) Eval(x, y []float64) float64 {
	must(k.check())
	checkLengths(x, y)
	c, product := orOne(k.C), 1.0
	for i, v := range x {
		a, b := v+c, y[i]+c
		if !(a > 0 && b > 0) {
			product = math.NaN()
		}
		low, high := min(a, b), max(a, b)
		product *= 2 * math.Sqrt(low/high) / (low/high + 1)
	}
	// The product is 0 if a ratio underflows, and if a ratio has an infinite denominator.
	if product == 0 && !finite(x, y) {
		return math.NaN()
	}
	return product
}

func (k SkewedChiSquare) check() error { return positive("SkewedChiSquare.C", k.C) }

// String returns the kernel as it is written in Go, defaults filled in.
func (k SkewedChiSquare) String() string { return fmt.Sprintf("SkewedChiSquare{C: %v}", orOne(k.C)) }
