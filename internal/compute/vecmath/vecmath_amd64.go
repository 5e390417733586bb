//go:build !purego && !noasm

package vecmath

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// The kernels of amd64.
const (
	narrow32 = kernel(2 * simd.AVX2)
	narrow64 = kernel(2*simd.AVX2 + 1)
	wide32   = kernel(2 * simd.AVX512)
	wide64   = kernel(2*simd.AVX512 + 1)
)

// The kernels are called by name: calls through variables would move slices on the
// stack of a caller to the heap.

func exp[T Float](dst, x []T) {
	switch kernelOf[T]() {
	case wide32:
		expF32AVX512(p32(dst), p32(x), len(x))
	case wide64:
		expF64AVX512(p64(dst), p64(x), len(x))
	case narrow32:
		expF32AVX2(p32(dst), p32(x), len(x))
	case narrow64:
		expF64AVX2(p64(dst), p64(x), len(x))
	default:
		expReference(dst, x)
	}
}

func expMinus[T Float](dst, x []T, c T) {
	switch kernelOf[T]() {
	case wide32:
		expMinusF32AVX512(p32(dst), p32(x), float32(c), len(x))
	case wide64:
		expMinusF64AVX512(p64(dst), p64(x), float64(c), len(x))
	case narrow32:
		expMinusF32AVX2(p32(dst), p32(x), float32(c), len(x))
	case narrow64:
		expMinusF64AVX2(p64(dst), p64(x), float64(c), len(x))
	default:
		expMinusReference(dst, x, c)
	}
}

func expDiff[T Float](dst, x, a, b []T) {
	switch kernelOf[T]() {
	case wide32:
		expDiffF32AVX512(p32(dst), p32(x), p32(a), p32(b), len(x))
	case wide64:
		expDiffF64AVX512(p64(dst), p64(x), p64(a), p64(b), len(x))
	case narrow32:
		expDiffF32AVX2(p32(dst), p32(x), p32(a), p32(b), len(x))
	case narrow64:
		expDiffF64AVX2(p64(dst), p64(x), p64(a), p64(b), len(x))
	default:
		expDiffReference(dst, x, a, b)
	}
}

func expRelative[T Float](dst, x []T, x0 T, a []T, a0 T, b []T, b0 T) {
	switch kernelOf[T]() {
	case wide32:
		expRelativeF32AVX512(p32(dst), p32(x), float32(x0), p32(a), float32(a0), p32(b), float32(b0), len(x))
	case wide64:
		expRelativeF64AVX512(p64(dst), p64(x), float64(x0), p64(a), float64(a0), p64(b), float64(b0), len(x))
	case narrow32:
		expRelativeF32AVX2(p32(dst), p32(x), float32(x0), p32(a), float32(a0), p32(b), float32(b0), len(x))
	case narrow64:
		expRelativeF64AVX2(p64(dst), p64(x), float64(x0), p64(a), float64(a0), p64(b), float64(b0), len(x))
	default:
		expRelativeReference(dst, x, x0, a, a0, b, b0)
	}
}

func elu[T Float](dst, x []T) {
	switch kernelOf[T]() {
	case wide32:
		eluF32AVX512(p32(dst), p32(x), len(x))
	case wide64:
		eluF64AVX512(p64(dst), p64(x), len(x))
	case narrow32:
		eluF32AVX2(p32(dst), p32(x), len(x))
	case narrow64:
		eluF64AVX2(p64(dst), p64(x), len(x))
	default:
		eluReference(dst, x)
	}
}

func log1p[T Float](dst, x []T) {
	switch kernelOf[T]() {
	case wide32:
		log1pF32AVX512(p32(dst), p32(x), len(x))
	case wide64:
		log1pF64AVX512(p64(dst), p64(x), len(x))
	case narrow32:
		log1pF32AVX2(p32(dst), p32(x), len(x))
	case narrow64:
		log1pF64AVX2(p64(dst), p64(x), len(x))
	default:
		log1pReference(dst, x)
	}
}

func logELU[T Float](dst, x []T) {
	switch kernelOf[T]() {
	case wide32:
		logELUF32AVX512(p32(dst), p32(x), len(x))
	case wide64:
		logELUF64AVX512(p64(dst), p64(x), len(x))
	case narrow32:
		logELUF32AVX2(p32(dst), p32(x), len(x))
	case narrow64:
		logELUF64AVX2(p64(dst), p64(x), len(x))
	default:
		logELUReference(dst, x)
	}
}

func peak[T Float](x []T) T {
	switch kernelOf[T]() {
	case wide32:
		return T(peakF32AVX512(p32(x), len(x)))
	case wide64:
		return T(peakF64AVX512(p64(x), len(x)))
	case narrow32:
		return T(peakF32AVX2(p32(x), len(x)))
	case narrow64:
		return T(peakF64AVX2(p64(x), len(x)))
	}
	return peakReference(x)
}

func peakSum[T Float](x, a, b []T) int {
	switch kernelOf[T]() {
	case wide32:
		return peakSumF32AVX512(p32(x), p32(a), p32(b), len(x))
	case wide64:
		return peakSumF64AVX512(p64(x), p64(a), p64(b), len(x))
	case narrow32:
		return peakSumF32AVX2(p32(x), p32(a), p32(b), len(x))
	case narrow64:
		return peakSumF64AVX2(p64(x), p64(a), p64(b), len(x))
	}
	return peakSumReference(x, a, b)
}

func sumOfSquares[T Float](x []T) float64 {
	switch kernelOf[T]() {
	case wide32:
		return sumOfSquaresF32AVX512(p32(x), len(x))
	case wide64:
		return sumOfSquaresF64AVX512(p64(x), len(x))
	case narrow32:
		return sumOfSquaresF32AVX2(p32(x), len(x))
	case narrow64:
		return sumOfSquaresF64AVX2(p64(x), len(x))
	}
	return sumOfSquaresReference(x)
}

func dot[T Float](x, g []T) float64 {
	switch kernelOf[T]() {
	case wide32:
		return dotF32AVX512(p32(x), p32(g), len(x))
	case wide64:
		return dotF64AVX512(p64(x), p64(g), len(x))
	case narrow32:
		return dotF32AVX2(p32(x), p32(g), len(x))
	case narrow64:
		return dotF64AVX2(p64(x), p64(g), len(x))
	}
	return dotReference(x, g)
}

func affine[T Float](dst, x []T, a, b T) {
	switch kernelOf[T]() {
	case wide32:
		affineF32AVX512(p32(dst), p32(x), float32(a), float32(b), len(x))
	case wide64:
		affineF64AVX512(p64(dst), p64(x), float64(a), float64(b), len(x))
	case narrow32:
		affineF32AVX2(p32(dst), p32(x), float32(a), float32(b), len(x))
	case narrow64:
		affineF64AVX2(p64(dst), p64(x), float64(a), float64(b), len(x))
	default:
		affineReference(dst, x, a, b)
	}
}

func affineEach[T Float](x []T, a T, b []T, c T) {
	switch kernelOf[T]() {
	case wide32:
		affineEachF32AVX512(p32(x), float32(a), p32(b), float32(c), len(x))
	case wide64:
		affineEachF64AVX512(p64(x), float64(a), p64(b), float64(c), len(x))
	case narrow32:
		affineEachF32AVX2(p32(x), float32(a), p32(b), float32(c), len(x))
	case narrow64:
		affineEachF64AVX2(p64(x), float64(a), p64(b), float64(c), len(x))
	default:
		affineEachReference(x, a, b, c)
	}
}

func scale[T Float](x []T, a T) {
	switch kernelOf[T]() {
	case wide32:
		scaleF32AVX512(p32(x), float32(a), len(x))
	case wide64:
		scaleF64AVX512(p64(x), float64(a), len(x))
	case narrow32:
		scaleF32AVX2(p32(x), float32(a), len(x))
	case narrow64:
		scaleF64AVX2(p64(x), float64(a), len(x))
	default:
		scaleReference(x, a)
	}
}

func multiply[T Float](x, a []T) {
	switch kernelOf[T]() {
	case wide32:
		multiplyF32AVX512(p32(x), p32(a), len(x))
	case wide64:
		multiplyF64AVX512(p64(x), p64(a), len(x))
	case narrow32:
		multiplyF32AVX2(p32(x), p32(a), len(x))
	case narrow64:
		multiplyF64AVX2(p64(x), p64(a), len(x))
	default:
		multiplyReference(x, a)
	}
}

func multiplyComplex[T Float](re, im, u, v []T, sign T) {
	switch kernelOf[T]() {
	case wide32:
		multiplyComplexF32AVX512(p32(re), p32(im), p32(u), p32(v), float32(sign), len(re))
	case wide64:
		multiplyComplexF64AVX512(p64(re), p64(im), p64(u), p64(v), float64(sign), len(re))
	case narrow32:
		multiplyComplexF32AVX2(p32(re), p32(im), p32(u), p32(v), float32(sign), len(re))
	case narrow64:
		multiplyComplexF64AVX2(p64(re), p64(im), p64(u), p64(v), float64(sign), len(re))
	default:
		multiplyComplexReference(re, im, u, v, sign)
	}
}

func addScaled[T Float](y, x []T, a T) {
	switch kernelOf[T]() {
	case wide32:
		addScaledF32AVX512(p32(y), p32(x), float32(a), len(x))
	case wide64:
		addScaledF64AVX512(p64(y), p64(x), float64(a), len(x))
	case narrow32:
		addScaledF32AVX2(p32(y), p32(x), float32(a), len(x))
	case narrow64:
		addScaledF64AVX2(p64(y), p64(x), float64(a), len(x))
	default:
		addScaledReference(y, x, a)
	}
}

func max0[T Float](x []T, c T) {
	switch kernelOf[T]() {
	case wide32:
		max0F32AVX512(p32(x), float32(c), len(x))
	case wide64:
		max0F64AVX512(p64(x), float64(c), len(x))
	case narrow32:
		max0F32AVX2(p32(x), float32(c), len(x))
	case narrow64:
		max0F64AVX2(p64(x), float64(c), len(x))
	default:
		max0Reference(x, c)
	}
}

func sign[T Float](x []T, c T) {
	switch kernelOf[T]() {
	case wide32:
		signF32AVX512(p32(x), float32(c), len(x))
	case wide64:
		signF64AVX512(p64(x), float64(c), len(x))
	case narrow32:
		signF32AVX2(p32(x), float32(c), len(x))
	case narrow64:
		signF64AVX2(p64(x), float64(c), len(x))
	default:
		signReference(x, c)
	}
}

func outer[T Float](s []T, stride int, a, b, x, y []T) {
	switch kernelOf[T]() {
	case wide32:
		outerF32AVX512(p32(s), stride, p32(a), p32(b), p32(x), p32(y), len(a), len(x))
	case wide64:
		outerF64AVX512(p64(s), stride, p64(a), p64(b), p64(x), p64(y), len(a), len(x))
	case narrow32:
		outerF32AVX2(p32(s), stride, p32(a), p32(b), p32(x), p32(y), len(a), len(x))
	case narrow64:
		outerF64AVX2(p64(s), stride, p64(a), p64(b), p64(x), p64(y), len(a), len(x))
	default:
		outerReference(s, stride, a, b, x, y)
	}
}

func sumRows[T Float](s []T, stride int, b, y []T) {
	switch kernelOf[T]() {
	case wide32:
		sumRowsF32AVX512(p32(s), stride, p32(b), p32(y), len(b), len(y))
	case wide64:
		sumRowsF64AVX512(p64(s), stride, p64(b), p64(y), len(b), len(y))
	case narrow32:
		sumRowsF32AVX2(p32(s), stride, p32(b), p32(y), len(b), len(y))
	case narrow64:
		sumRowsF64AVX2(p64(s), stride, p64(b), p64(y), len(b), len(y))
	default:
		sumRowsReference(s, stride, b, y)
	}
}

func peakRows[T Float](peaks, x []T, stride, rows int) {
	switch kernelOf[T]() {
	case wide32:
		peakRowsF32AVX512(p32(peaks), p32(x), stride, rows, len(peaks))
	case wide64:
		peakRowsF64AVX512(p64(peaks), p64(x), stride, rows, len(peaks))
	case narrow32:
		peakRowsF32AVX2(p32(peaks), p32(x), stride, rows, len(peaks))
	case narrow64:
		peakRowsF64AVX2(p64(peaks), p64(x), stride, rows, len(peaks))
	default:
		peakRowsReference(peaks, x, stride, rows)
	}
}

func expRows[T Float](x []T, stride, rows int, a, b, sums []T) {
	switch kernelOf[T]() {
	case wide32:
		expRowsF32AVX512(p32(x), stride, p32(a), p32(b), p32(sums), rows, len(sums))
	case wide64:
		expRowsF64AVX512(p64(x), stride, p64(a), p64(b), p64(sums), rows, len(sums))
	case narrow32:
		expRowsF32AVX2(p32(x), stride, p32(a), p32(b), p32(sums), rows, len(sums))
	case narrow64:
		expRowsF64AVX2(p64(x), stride, p64(a), p64(b), p64(sums), rows, len(sums))
	default:
		expRowsReference(x, stride, rows, a, b, sums)
	}
}

// cosUpTo sets the elements of dst before the first block with a large argument, and returns their
// number.
func cosUpTo[T Float](dst, x []T) int {
	switch kernelOf[T]() {
	case wide32:
		return cosF32AVX512(p32(dst), p32(x), len(x))
	case wide64:
		return cosF64AVX512(p64(dst), p64(x), len(x))
	case narrow32:
		return cosF32AVX2(p32(dst), p32(x), len(x))
	case narrow64:
		return cosF64AVX2(p64(dst), p64(x), len(x))
	}
	cosReference(dst, x)
	return len(x)
}

// sincosUpTo sets the elements of both before the first block with a large argument, and returns
// their number.
func sincosUpTo[T Float](sines, cosines, x []T) int {
	switch kernelOf[T]() {
	case wide32:
		return sincosF32AVX512(p32(sines), p32(cosines), p32(x), len(x))
	case wide64:
		return sincosF64AVX512(p64(sines), p64(cosines), p64(x), len(x))
	case narrow32:
		return sincosF32AVX2(p32(sines), p32(cosines), p32(x), len(x))
	case narrow64:
		return sincosF64AVX2(p64(sines), p64(cosines), p64(x), len(x))
	}
	sincosReference(sines, cosines, x)
	return len(x)
}

func pick[T Float](dst, x []T, at []int32, a []T) {
	done := 0
	switch kernelOf[T]() {
	case wide32:
		if done = len(dst) &^ 15; done > 0 {
			pickF32AVX512(p32(dst), p32(x), &at[0], p32(a), done/16)
		}
	case wide64:
		if done = len(dst) &^ 7; done > 0 {
			pickF64AVX512(p64(dst), p64(x), &at[0], p64(a), done/8)
		}
	case narrow32:
		if done = len(dst) &^ 7; done > 0 {
			pickF32AVX2(p32(dst), p32(x), &at[0], p32(a), done/8)
		}
	case narrow64:
		if done = len(dst) &^ 3; done > 0 {
			pickF64AVX2(p64(dst), p64(x), &at[0], p64(a), done/4)
		}
	}
	pickReference(dst[done:], x, at[done:], a[done:])
}

func highest[T Float](peaks, at, x []T, stride int, minus []T, rows int) {
	switch kernelOf[T]() {
	case wide32:
		highestF32AVX512(p32(peaks), p32(at), p32(x), stride, p32(minus), rows, len(peaks))
	case wide64:
		highestF64AVX512(p64(peaks), p64(at), p64(x), stride, p64(minus), rows, len(peaks))
	case narrow32:
		highestF32AVX2(p32(peaks), p32(at), p32(x), stride, p32(minus), rows, len(peaks))
	case narrow64:
		highestF64AVX2(p64(peaks), p64(at), p64(x), stride, p64(minus), rows, len(peaks))
	default:
		highestReference(peaks, at, x, stride, minus, rows)
	}
}

func uncertain[T Float](list []int32, w, a []T, b, c T, bound []T) int {
	switch kernelOf[T]() {
	case wide32:
		return uncertainF32AVX512(&list[0], p32(w), p32(a), float32(b), float32(c), p32(bound), len(w))
	case wide64:
		return uncertainF64AVX512(&list[0], p64(w), p64(a), float64(b), float64(c), p64(bound), len(w))
	case narrow32:
		return uncertainF32AVX2(&list[0], p32(w), p32(a), float32(b), float32(c), p32(bound), len(w))
	case narrow64:
		return uncertainF64AVX2(&list[0], p64(w), p64(a), float64(b), float64(c), p64(bound), len(w))
	}
	return uncertainReference(list, w, a, b, c, bound)
}
