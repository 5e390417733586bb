package mse

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
)

// LaplacianIID is the law of Fourier features of the Laplacian kernel k = exp(−‖x−y‖₁), with
// independent Cauchy coordinates of w: MSE = (1 − k²)/(2m) [Sutherland & Schneider 2015].
func LaplacianIID(x, y []float64, m int) float64 {
	if z := newPair(x, y, m); math.IsNaN(z.p) {
		return math.NaN()
	}
	return -math.Expm1(-2*floats.Distance(x, y, 1)) / (2 * float64(m))
}

// MaternIID is the law of Fourier features of the Matérn kernel k of smoothness ν and length-scale
// 1, with independent w: MSE = (1 + k(2x, 2y) − 2k²)/(2m) [Sutherland & Schneider 2015]. With t =
// 2√(2ν)·‖x−y‖ and P(n, t) = e^(−t)·Σ_{j≥n} t^j/j!, the error times 2m is P(1, t), P(3, t) and P(5,
// t) + e^(−t)·t⁴/36 for ν = ½, 3/2 and 5/2, without cancellation. Another ν panics.
func MaternIID(nu float64) Error {
	excess, ok := map[float64]func(t float64) float64{
		0.5: func(t float64) float64 { return -math.Expm1(-t) },
		1.5: func(t float64) float64 { return mathext.GammaIncReg(3, t) },
		2.5: func(t float64) float64 {
			square := t * math.Exp(-t/4)
			square *= square
			return mathext.GammaIncReg(5, t) + square*square/36
		},
	}[nu]
	if !ok {
		panic(fmt.Sprintf("mse: nu = %v, want 0.5, 1.5 or 2.5", nu))
	}
	return func(x, y []float64, m int) float64 {
		if z := newPair(x, y, m); math.IsNaN(z.p) {
			return math.NaN()
		}
		// Beyond 1e4 the number e^(−t) is 0.
		t := math.Min(2*math.Sqrt(2*nu)*floats.Distance(x, y, 2), 1e4)
		return excess(t) / (2 * float64(m))
	}
}
