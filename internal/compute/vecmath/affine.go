package vecmath

import "math"

// The functions of this file round every product and every sum, in every tier.

// Affine sets dst[i] = a·x[i] + b. dst may be x.
func Affine[T Float](dst, x []T, a, b T) {
	affine(first(dst, len(x)), x, a, b)
}

// AffineEach sets x[i] = (a·x[i] + b[i]) + c. b may be x.
func AffineEach[T Float](x []T, a T, b []T, c T) {
	affineEach(x, a, first(b, len(x)), c)
}

func Scale[T Float](x []T, a T) {
	affine(x, x, a, T(math.Copysign(0, -1))) // a number plus −0 is the number
}

// Multiply sets x[i] = x[i]·a[i]. a may be x.
func Multiply[T Float](x, a []T) {
	multiply(x, first(a, len(x)))
}

// AddScaled sets y[i] = y[i] + a·x[i]. y may be x.
func AddScaled[T Float](y, x []T, a T) {
	addScaled(first(y, len(x)), x, a)
}

// Max0 sets x[i] to c·x[i] if x[i] > 0, to +0 if −∞ < x[i] ≤ 0, and to NaN if NaN or −Inf.
func Max0[T Float](x []T, c T) {
	max0(x, c)
}

// Sign sets x[i] to c if x[i] > 0, to −c if x[i] < 0, to +0 if 0, and to NaN if not finite.
func Sign[T Float](x []T, c T) {
	sign(x, c)
}
