package vecmath

// Sum returns Σx[i] from eight partial sums, because a single sum would wait for each addition. The
// order of additions depends on the length alone.
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

// Dot returns Σx[i]·g[i], summed in float64 as in HalfSquaredNorm and rounded once: results are the
// same in every tier. Dot panics if g is shorter than x.
func Dot[T Float](x, g []T) T { return T(dot(x, first(g, len(x)))) }
