package vecmath

// Outer adds multiples of x to the rows of a matrix and sums the rows: for i in ascending order
//
//	s_i = s_i + a_i·x,  y = y + b_i·s_i
//
// where row s_i is s[i·stride : i·stride+len(x)]. Outer gives the bits of two calls of AddScaled
// for each row, and reads s once. The number of rows is len(a). Outer panics unless stride is at
// least len(x) and s holds all rows. x and y must not overlap s nor each other.
func Outer[T Float](s []T, stride int, a, b, x, y []T) {
	if len(a) > 0 && len(x) > 0 {
		outer(matrix(s, stride, len(a), len(x)), stride, a, first(b, len(a)), x, first(y, len(x)))
	}
}

// DecayOuter is Outer with s_i = d_i·s_i + a_i·x, with the bits of Scale and AddScaled.
func DecayOuter[T Float](s []T, stride int, d, a, b, x, y []T) {
	if len(a) > 0 && len(x) > 0 {
		decayOuter(matrix(s, stride, len(a), len(x)), stride, first(d, len(a)), a, first(b, len(a)), x, first(y, len(x)))
	}
}

// SumRows adds the rows s_i of a matrix in the layout of Outer to y: y = y + b_i·s_i for i in
// ascending order, with the bits of AddScaled. SumRows panics as Outer does.
func SumRows[T Float](s []T, stride int, b, y []T) {
	if len(b) > 0 && len(y) > 0 {
		sumRows(matrix(s, stride, len(b), len(y)), stride, b, y)
	}
}
