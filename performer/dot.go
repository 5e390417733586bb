package performer

import "github.com/seed-feabd252/randfeat/dense"

// dot returns Σ x_f·y_f over the elements of x, of which y has as many, as eight sums
// of every eighth term, in an order that depends on len(x) alone.
func dot[T dense.Float](x, y []T) T {
	var s0, s1, s2, s3, s4, s5, s6, s7 T
	y = y[:len(x)]
	for len(x) >= 8 && len(y) >= 8 {
		a, b := (*[8]T)(x), (*[8]T)(y)
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		s4 += a[4] * b[4]
		s5 += a[5] * b[5]
		s6 += a[6] * b[6]
		s7 += a[7] * b[7]
		x, y = x[8:], y[8:]
	}
	for f, v := range x {
		s0 += v * y[f]
	}
	return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}
