package vecmath

import "unsafe"

// The kernels take arguments below a limit. Up to this limit, ½π as a sum of three terms gives r =
// |x| − ½nπ with an error of one unit in the last place, or of half a unit unless r is small:
//
//   - The first product and difference are one fused operation, and exact: for |x| ≥ 1, x and the
//     product are multiples of 2^−23 or 2^−52 and the difference is below 2. For |x| < 1 the
//     difference, if there is one, is above ½π − 1, so that its rounding is half a unit.
//   - The second difference is rounded to a last place of r.
//   - The third product is below 2^−33 or 2^−79. Its rounding matters only if r is so small that
//     sin r = r in all digits, and such an r has no other error.
//   - The rest of π is below 2^−72 or 2^−160. It has no effect, because no number of the type below
//     the limit is nearer than 2^−31 or 2^−61 to a multiple of ½π.
const (
	limit32 = 1 << 16
	limit64 = 1 << 30
)

// group is at least the number of elements of the largest block of a kernel.
const group = 64

func limitOf[T Float]() T {
	if unsafe.Sizeof(T(0)) == 4 {
		return limit32
	}
	return limit64
}

func withoutLarge[T Float](x []T) (small [group]T) {
	limit := limitOf[T]()
	for i, v := range x {
		if v < limit && v > -limit {
			small[i] = v
		}
	}
	return small
}

// Sincos sets sines[i] and cosines[i] to the sine and the cosine of x[i]. Either slice may be x.
// sines and cosines must not overlap.
func Sincos[T Float](sines, cosines, x []T) {
	sines, cosines = first(sines, len(x)), first(cosines, len(x))
	limit := limitOf[T]()
	for {
		n := sincos(sines, cosines, x)
		if n == len(x) {
			return
		}
		sines, cosines, x = sines[n:], cosines[n:], x[n:]
		n = min(len(x), group)
		s := withoutLarge(x[:n])
		var c [group]T
		sincos(s[:n], c[:n], s[:n])
		for i, v := range x[:n] {
			if !(v < limit && v > -limit) {
				a, b := sincosOf(float64(v))
				s[i], c[i] = T(a), T(b)
			}
		}
		copy(sines, s[:n])
		copy(cosines, c[:n])
		sines, cosines, x = sines[n:], cosines[n:], x[n:]
	}
}
