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

// SquaredDistance returns ‖x − y‖² as the sum of squared differences, without cancellation and in
// float64. Results are the same in every tier and on every processor.
func SquaredDistance[T Float](x, y []T) float64 {
	var s0, s1, s2, s3 float64
	y = y[:len(x)]
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a, b := x[i:i+4:i+4], y[i:i+4:i+4]
		d0, d1, d2, d3 := float64(a[0])-float64(b[0]), float64(a[1])-float64(b[1]), float64(a[2])-float64(b[2]), float64(a[3])-float64(b[3])
		s0 += float64(d0 * d0)
		s1 += float64(d1 * d1)
		s2 += float64(d2 * d2)
		s3 += float64(d3 * d3)
	}
	for ; i < len(x); i++ {
		d := float64(x[i]) - float64(y[i])
		s0 += float64(d * d)
	}
	return (s0 + s1) + (s2 + s3)
}

// Roundoff returns the unit roundoff of T: 2⁻²⁴ or 2⁻⁵³.
func Roundoff[T Float]() float64 {
	if T(1)+0x1p-30 == 1 {
		return 0x1p-24
	}
	return 0x1p-53
}
