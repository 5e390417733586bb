package vecmath

// The sums below are eight partial ones, as one by itself would wait for each
// addition. Their order depends on the length alone, and nothing is fused.

// Sum returns Σx[i].
func Sum[T Float](x []T) T {
	var s0, s1, s2, s3, s4, s5, s6, s7 T
	for len(x) >= 8 {
		u := (*[8]T)(x)
		s0 += u[0]
		s1 += u[1]
		s2 += u[2]
		s3 += u[3]
		s4 += u[4]
		s5 += u[5]
		s6 += u[6]
		s7 += u[7]
		x = x[8:]
	}
	for _, v := range x {
		s0 += v
	}
	return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
}

// Dot returns Σx[i]·g[i]. It panics if g is shorter than x.
func Dot[T Float](x, g []T) T {
	var s0, s1, s2, s3, s4, s5, s6, s7 T
	g = g[:len(x)]
	for len(x) >= 8 {
		u, v := (*[8]T)(x), (*[8]T)(g)
		s0 += T(u[0] * v[0])
		s1 += T(u[1] * v[1])
		s2 += T(u[2] * v[2])
		s3 += T(u[3] * v[3])
		s4 += T(u[4] * v[4])
		s5 += T(u[5] * v[5])
		s6 += T(u[6] * v[6])
		s7 += T(u[7] * v[7])
		x, g = x[8:], g[8:]
	}
	for i, v := range x {
		s0 += T(v * g[i])
	}
	return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
}
