//go:build !purego && !noasm

package vecmath

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// The kernels of arm64.
const (
	neon32 = kernel(2 * simd.NEON)
	neon64 = kernel(2*simd.NEON + 1)
)

// The kernels are called by name: calls through variables would move slices on the
// stack of a caller to the heap.

func exp[T Float](dst, x []T) {
	switch kernelOf[T]() {
	case neon32:
		expF32NEON(p32(dst), p32(x), len(x))
	case neon64:
		expF64NEON(p64(dst), p64(x), len(x))
	default:
		expReference(dst, x)
	}
}

func expMinus[T Float](dst, x []T, c T) {
	switch kernelOf[T]() {
	case neon32:
		expMinusF32NEON(p32(dst), p32(x), float32(c), len(x))
	case neon64:
		expMinusF64NEON(p64(dst), p64(x), float64(c), len(x))
	default:
		expMinusReference(dst, x, c)
	}
}

func expDiff[T Float](dst, x, a, b []T) {
	switch kernelOf[T]() {
	case neon32:
		expDiffF32NEON(p32(dst), p32(x), p32(a), p32(b), len(x))
	case neon64:
		expDiffF64NEON(p64(dst), p64(x), p64(a), p64(b), len(x))
	default:
		expDiffReference(dst, x, a, b)
	}
}

func expRelative[T Float](dst, x []T, x0 T, a []T, a0 T, b []T, b0 T) {
	switch kernelOf[T]() {
	case neon32:
		expRelativeF32NEON(p32(dst), p32(x), float32(x0), p32(a), float32(a0), p32(b), float32(b0), len(x))
	case neon64:
		expRelativeF64NEON(p64(dst), p64(x), float64(x0), p64(a), float64(a0), p64(b), float64(b0), len(x))
	default:
		expRelativeReference(dst, x, x0, a, a0, b, b0)
	}
}

func elu[T Float](dst, x []T) {
	switch kernelOf[T]() {
	case neon32:
		eluF32NEON(p32(dst), p32(x), len(x))
	case neon64:
		eluF64NEON(p64(dst), p64(x), len(x))
	default:
		eluReference(dst, x)
	}
}

func log1p[T Float](dst, x []T) {
	switch kernelOf[T]() {
	case neon32:
		log1pF32NEON(p32(dst), p32(x), len(x))
	case neon64:
		log1pF64NEON(p64(dst), p64(x), len(x))
	default:
		log1pReference(dst, x)
	}
}

func logELU[T Float](dst, x []T) {
	switch kernelOf[T]() {
	case neon32:
		logELUF32NEON(p32(dst), p32(x), len(x))
	case neon64:
		logELUF64NEON(p64(dst), p64(x), len(x))
	default:
		logELUReference(dst, x)
	}
}

func peak[T Float](x []T) T {
	switch kernelOf[T]() {
	case neon32:
		return T(peakF32NEON(p32(x), len(x)))
	case neon64:
		return T(peakF64NEON(p64(x), len(x)))
	}
	return peakReference(x)
}

func peakSum[T Float](x, a, b []T) int {
	switch kernelOf[T]() {
	case neon32:
		return peakSumF32NEON(p32(x), p32(a), p32(b), len(x))
	case neon64:
		return peakSumF64NEON(p64(x), p64(a), p64(b), len(x))
	}
	return peakSumReference(x, a, b)
}

func sumOfSquares[T Float](x []T) float64 {
	switch kernelOf[T]() {
	case neon32:
		return sumOfSquaresF32NEON(p32(x), len(x))
	case neon64:
		return sumOfSquaresF64NEON(p64(x), len(x))
	}
	return sumOfSquaresReference(x)
}

func dot[T Float](x, g []T) float64 {
	switch kernelOf[T]() {
	case neon32:
		return dotF32NEON(p32(x), p32(g), len(x))
	case neon64:
		return dotF64NEON(p64(x), p64(g), len(x))
	}
	return dotReference(x, g)
}

func affine[T Float](dst, x []T, a, b T) {
	switch kernelOf[T]() {
	case neon32:
		affineF32NEON(p32(dst), p32(x), float32(a), float32(b), len(x))
	case neon64:
		affineF64NEON(p64(dst), p64(x), float64(a), float64(b), len(x))
	default:
		affineReference(dst, x, a, b)
	}
}

func affineEach[T Float](x []T, a T, b []T, c T) {
	switch kernelOf[T]() {
	case neon32:
		affineEachF32NEON(p32(x), float32(a), p32(b), float32(c), len(x))
	case neon64:
		affineEachF64NEON(p64(x), float64(a), p64(b), float64(c), len(x))
	default:
		affineEachReference(x, a, b, c)
	}
}

func scale[T Float](x []T, a T) {
	switch kernelOf[T]() {
	case neon32:
		scaleF32NEON(p32(x), float32(a), len(x))
	case neon64:
		scaleF64NEON(p64(x), float64(a), len(x))
	default:
		scaleReference(x, a)
	}
}

func multiply[T Float](x, a []T) {
	switch kernelOf[T]() {
	case neon32:
		multiplyF32NEON(p32(x), p32(a), len(x))
	case neon64:
		multiplyF64NEON(p64(x), p64(a), len(x))
	default:
		multiplyReference(x, a)
	}
}

func multiplyComplex[T Float](re, im, u, v []T, sign T) {
	switch kernelOf[T]() {
	case neon32:
		multiplyComplexF32NEON(p32(re), p32(im), p32(u), p32(v), float32(sign), len(re))
	case neon64:
		multiplyComplexF64NEON(p64(re), p64(im), p64(u), p64(v), float64(sign), len(re))
	default:
		multiplyComplexReference(re, im, u, v, sign)
	}
}

func addScaled[T Float](y, x []T, a T) {
	switch kernelOf[T]() {
	case neon32:
		addScaledF32NEON(p32(y), p32(x), float32(a), len(x))
	case neon64:
		addScaledF64NEON(p64(y), p64(x), float64(a), len(x))
	default:
		addScaledReference(y, x, a)
	}
}

func max0[T Float](x []T, c T) {
	switch kernelOf[T]() {
	case neon32:
		max0F32NEON(p32(x), float32(c), len(x))
	case neon64:
		max0F64NEON(p64(x), float64(c), len(x))
	default:
		max0Reference(x, c)
	}
}

func sign[T Float](x []T, c T) {
	switch kernelOf[T]() {
	case neon32:
		signF32NEON(p32(x), float32(c), len(x))
	case neon64:
		signF64NEON(p64(x), float64(c), len(x))
	default:
		signReference(x, c)
	}
}

func outer[T Float](s []T, stride int, a, b, x, y []T) {
	switch kernelOf[T]() {
	case neon32:
		outerF32NEON(p32(s), stride, p32(a), p32(b), p32(x), p32(y), len(a), len(x))
	case neon64:
		outerF64NEON(p64(s), stride, p64(a), p64(b), p64(x), p64(y), len(a), len(x))
	default:
		outerReference(s, stride, a, b, x, y)
	}
}

func sumRows[T Float](s []T, stride int, b, y []T) {
	switch kernelOf[T]() {
	case neon32:
		sumRowsF32NEON(p32(s), stride, p32(b), p32(y), len(b), len(y))
	case neon64:
		sumRowsF64NEON(p64(s), stride, p64(b), p64(y), len(b), len(y))
	default:
		sumRowsReference(s, stride, b, y)
	}
}

func peakRows[T Float](peaks, x []T, stride, rows int) {
	switch kernelOf[T]() {
	case neon32:
		peakRowsF32NEON(p32(peaks), p32(x), stride, rows, len(peaks))
	case neon64:
		peakRowsF64NEON(p64(peaks), p64(x), stride, rows, len(peaks))
	default:
		peakRowsReference(peaks, x, stride, rows)
	}
}

func expRows[T Float](x []T, stride, rows int, a, b, sums []T) {
	switch kernelOf[T]() {
	case neon32:
		expRowsF32NEON(p32(x), stride, p32(a), p32(b), p32(sums), rows, len(sums))
	case neon64:
		expRowsF64NEON(p64(x), stride, p64(a), p64(b), p64(sums), rows, len(sums))
	default:
		expRowsReference(x, stride, rows, a, b, sums)
	}
}

// cosUpTo sets the elements of dst before the first block with a large argument, and returns their
// number.
func cosUpTo[T Float](dst, x []T) int {
	switch kernelOf[T]() {
	case neon32:
		return cosF32NEON(p32(dst), p32(x), len(x))
	case neon64:
		return cosF64NEON(p64(dst), p64(x), len(x))
	}
	cosReference(dst, x)
	return len(x)
}

// sincosUpTo sets the elements of both before the first block with a large argument, and returns
// their number.
func sincosUpTo[T Float](sines, cosines, x []T) int {
	switch kernelOf[T]() {
	case neon32:
		return sincosF32NEON(p32(sines), p32(cosines), p32(x), len(x))
	case neon64:
		return sincosF64NEON(p64(sines), p64(cosines), p64(x), len(x))
	}
	sincosReference(sines, cosines, x)
	return len(x)
}

func pick[T Float](dst, x []T, at []int32, a []T) {
	done := len(dst) &^ 7
	switch kernel := kernelOf[T](); {
	case kernel == neon32 && done > 0:
		pickF32NEON(p32(dst), p32(x), &at[0], p32(a), done/8)
	case kernel == neon64 && done > 0:
		pickF64NEON(p64(dst), p64(x), &at[0], p64(a), done/8)
	default:
		done = 0
	}
	pickReference(dst[done:], x, at[done:], a[done:])
}

func highest[T Float](peaks, at, x []T, stride int, minus []T, rows int) {
	highestReference(peaks, at, x, stride, minus, rows)
}

func uncertain[T Float](list []int32, w, a []T, b, c T, bound []T) int {
	return uncertainReference(list, w, a, b, c, bound)
}
