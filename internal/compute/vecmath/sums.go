package vecmath

// Sum returns Σx[i]. It adds eight partial sums, because each addition to a single sum would wait
// for the addition before. The order of additions depends on len(x) alone.
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

// Dot returns Σx[i]·g[i]. The sum is computed in float64, in the order of HalfSquaredNorm, and
// rounded to T: results are the same in every tier. Dot panics if g is shorter than x.
func Dot[T Float](x, g []T) T { return T(dot(x, first(g, len(x)))) }
