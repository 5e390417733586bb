//go:build (!amd64 && !arm64) || purego || noasm

package vecmath

// There is no tier but the reference.

func exp[T Float](dst, x []T) { expReference(dst, x) }

func expMinus[T Float](dst, x []T, c T) { expMinusReference(dst, x, c) }

func expDiff[T Float](dst, x, a, b []T) { expDiffReference(dst, x, a, b) }

func expRelative[T Float](dst, x []T, x0 T, a []T, a0 T, b []T, b0 T) {
	expRelativeReference(dst, x, x0, a, a0, b, b0)
}

func elu[T Float](dst, x []T) { eluReference(dst, x) }

func logELU[T Float](dst, x []T) { logELUReference(dst, x) }

func log1p[T Float](dst, x []T) { log1pReference(dst, x) }

func cos[T Float](dst, x []T) { cosReference(dst, x) }

func sincos[T Float](sines, cosines, x []T) { sincosReference(sines, cosines, x) }

func peak[T Float](x []T) T { return peakReference(x) }

func peakSum[T Float](x, a, b []T) int { return peakSumReference(x, a, b) }

func sumOfSquares[T Float](x []T) float64 { return sumOfSquaresReference(x) }

func dot[T Float](x, g []T) float64 { return dotReference(x, g) }

func affine[T Float](dst, x []T, a, b T) { affineReference(dst, x, a, b) }

func affineEach[T Float](x []T, a T, b []T, c T) { affineEachReference(x, a, b, c) }

func scale[T Float](x []T, a T) { scaleReference(x, a) }

func multiply[T Float](x, a []T) { multiplyReference(x, a) }

func multiplyComplex[T Float](re, im, u, v []T, sign T) {
	multiplyComplexReference(re, im, u, v, sign)
}

func addScaled[T Float](y, x []T, a T) { addScaledReference(y, x, a) }

func max0[T Float](x []T, c T) { max0Reference(x, c) }

func sign[T Float](x []T, c T) { signReference(x, c) }

func outer[T Float](s []T, stride int, a, b, x, y []T) { outerReference(s, stride, a, b, x, y) }

func sumRows[T Float](s []T, stride int, b, y []T) { sumRowsReference(s, stride, b, y) }

func peakRows[T Float](peaks, x []T, stride, rows int) { peakRowsReference(peaks, x, stride, rows) }

func expRows[T Float](x []T, stride, rows int, a, b, sums []T) {
	expRowsReference(x, stride, rows, a, b, sums)
}

func pick[T Float](dst, x []T, at []int32, a []T) { pickReference(dst, x, at, a) }

func highest[T Float](peaks, at, x []T, stride int, minus []T, rows int) {
	highestReference(peaks, at, x, stride, minus, rows)
}

func uncertain[T Float](list []int32, w, a []T, b, c T, bound []T) int {
	return uncertainReference(list, w, a, b, c, bound)
}
