package vecmath

// Cos sets dst[i] = cos x[i]. dst may be x.
func Cos[T Float](dst, x []T) {
	cos(first(dst, len(x)), x)
}

// Sincos sets sines[i], cosines[i] to the sine and cosine of x[i]. Either may be
// x; they must not overlap.
func Sincos[T Float](sines, cosines, x []T) {
	sincos(first(sines, len(x)), first(cosines, len(x)), x)
}
