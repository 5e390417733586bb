package vecmath

// Exp sets dst[i] = e^x[i]. dst may be x.
func Exp[T Float](dst, x []T) {
	expMinus(first(dst, len(x)), x, 0)
}

// ExpMinus sets dst[i] = e^(x[i] − c), where the difference is rounded once.
func ExpMinus[T Float](dst, x []T, c T) {
	expMinus(first(dst, len(x)), x, c)
}

// ExpDiff sets dst[i] = e^((x[i] − a[i]) − b[i]), where both differences are rounded.
func ExpDiff[T Float](dst, x, a, b []T) {
	n := len(x)
	expDiff(first(dst, n), x, first(a, n), first(b, n))
}

// ExpRelative sets dst[i] = e^((x[i] − x0) + ((a[i] − a0) + (b[i] − b0))), all rounded.
func ExpRelative[T Float](dst, x []T, x0 T, a []T, a0 T, b []T, b0 T) {
	n := len(x)
	expRelative(first(dst, n), x, x0, first(a, n), a0, first(b, n), b0)
}

// Matern sets x[i] = ((q·s + p·r) + 1)·e^−r with s = max(0, a·((x[i] + b[i]) + c)) and r = √s, all
// rounded; NaN for an infinite s. b may be x.
func Matern[T Float](x []T, a T, b []T, c, p, q T) {
	matern(x, a, first(b, len(x)), c, p, q)
}

// ELU sets dst[i] = x[i] + 1 where x[i] ≥ 0 and e^x[i] where x[i] < 0; NaN for −Inf.
func ELU[T Float](dst, x []T) {
	elu(first(dst, len(x)), x)
}

// LogELU sets dst[i] = log(elu(x[i]) + 1): log(1 + x[i]) where x[i] ≥ 0 and x[i]
// itself elsewhere; NaN for −Inf, where the argument of the logarithm would be 0.
// A zero gives a zero of either sign. dst may be x.
func LogELU[T Float](dst, x []T) {
	logELU(first(dst, len(x)), x)
}
