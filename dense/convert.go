package dense

// Convert writes src into dst in dst's precision, rounding to nearest even,
// and returns dst; a zero dst is allocated. A float64 beyond the range of
// float32 becomes ±Inf, NaN stays NaN. It panics if the shapes differ, and if
// Check does.
func Convert[To, From Float](dst Matrix[To], src Matrix[From]) Matrix[To] {
	src.Check()
	dst = Ensure(dst, src.Rows, src.Cols)
	for i := range src.Rows {
		to := dst.Row(i)
		for j, v := range src.Row(i) {
			to[j] = To(v)
		}
	}
	return dst
}
