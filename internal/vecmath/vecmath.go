// Package vecmath applies elementary functions to slices, for float32 and
// float64, with NaN and ±Inf as package math has them.
package vecmath

import "math"

// Float is the set of element types.
type Float interface{ float32 | float64 }

// Exp sets dst[i] = e^x[i]. dst may be x. It panics if dst is shorter than x.
func Exp[T Float](dst, x []T) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = T(math.Exp(float64(v)))
	}
}

// Sincos sets sin[i], cos[i] to the sine and cosine of x[i]. Either may be x.
// It panics if one of them is shorter than x.
func Sincos[T Float](sin, cos, x []T) {
	sin, cos = sin[:len(x)], cos[:len(x)]
	for i, v := range x {
		s, c := math.Sincos(float64(v))
		sin[i], cos[i] = T(s), T(c)
	}
}
