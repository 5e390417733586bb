package codelaw

import "math"

// BestUniform returns the n cells per sign of equal width that minimise the angle between u and s:
// golden-section search maximises (E sᵀu)²/E‖s‖². The width is rounded to 8 binary digits, so that
// it does not depend on the last digits of elementary functions. The rounding adds less than 1e-4
// of the error, because the optimum is flat.
func BestUniform(d, n int) Cells {
	if n == 1 {
		return Uniform(1, 2) // the angle does not depend on the width
	}
	loss := func(logStep float64) float64 {
		along, square := Uniform(n, math.Exp(logStep)).lengths(d)
		return -along * along / square
	}
	// n cells end between 0.5 and 7 standard deviations 1/√d of a coordinate.
	lo, hi := math.Log(0.5/float64(n)/math.Sqrt(float64(d))), math.Log(7/float64(n)/math.Sqrt(float64(d)))
	const ratio = math.Phi - 1
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := loss(a), loss(b)
	for hi-lo > 1e-7 {
		if fa < fb {
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = loss(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = loss(b)
		}
	}
	fraction, exponent := math.Frexp(math.Exp((lo + hi) / 2))
	return Uniform(n, math.Ldexp(math.RoundToEven(fraction*256), exponent-8))
}
