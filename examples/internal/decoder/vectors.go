package decoder

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/blas"

	fast "github.com/seed-feabd252/randfeat/blas"
	"github.com/seed-feabd252/randfeat/dense"
)

// rowGrain and elementGrain are how many rows or numbers a goroutine takes.
const (
	rowGrain     = 64
	elementGrain = 1 << 15
)

// ranges calls f for ranges of at most grain numbers that make up [0, n), each on a goroutine.
func ranges(n, grain int, f func(lo, hi int)) {
	var all sync.WaitGroup
	for lo := 0; lo < n; lo += grain {
		all.Go(func() { f(lo, min(lo+grain, n)) })
	}
	all.Wait()
}

// multiply computes dst = A·B, where A is a or its transpose and B is b or its transpose.
func multiply[T dense.Float](dst, a dense.Matrix[T], ta blas.Transpose, b dense.Matrix[T], tb blas.Transpose) {
	var product fast.Implementation
	inner := a.Cols
	if ta == blas.Trans {
		inner = a.Rows
	}
	switch to := any(dst.Data).(type) {
	case []float32:
		product.Sgemm(ta, tb, dst.Rows, dst.Cols, inner, 1, any(a.Data).([]float32), a.Stride,
			any(b.Data).([]float32), b.Stride, 0, to, dst.Stride)
	case []float64:
		product.Dgemm(ta, tb, dst.Rows, dst.Cols, inner, 1, any(a.Data).([]float64), a.Stride,
			any(b.Data).([]float64), b.Stride, 0, to, dst.Stride)
	}
}

// add computes y += x.
func add[T dense.Float](y, x []T) {
	y = y[:len(x)]
	for j, v := range x {
		y[j] += v
	}
}

// addRows computes y += x on all processors, for matrices of one block of memory each.
func addRows[T dense.Float](y, x dense.Matrix[T]) {
	ranges(len(x.Data), elementGrain, func(lo, hi int) { add(y.Data[lo:hi], x.Data[lo:hi]) })
}

// squaredNorm returns Σx².
func squaredNorm[T dense.Float](x []T) (sum float64) {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

// exps sets y to exp(x).
func exps[T dense.Float](y, x []T) {
	switch x := any(x).(type) {
	case []float32:
		exps32(any(y).([]float32), x)
	case []float64:
		y := any(y).([]float64)[:len(x)]
		for j, v := range x {
			y[j] = math.Exp(v)
		}
	}
}

// exps32 is exps to 2 units in the last place, more than twice as fast as over float64. With n =
// round(x/log 2) it is 2ⁿ·exp(r) for |r| ≤ ½·log 2, where a polynomial of Cephes' expf is exp(r).
// Results below the normal numbers are zero.
func exps32(y, x []float32) {
	const (
		perLog2  = 1.44269504088896341
		log2High = 0.693359375
		log2Low  = -2.12194440e-4
		round    = 3 << 22 // the last bit of a sum with it is 1
		least    = -87.3
		most     = 88
	)
	y = y[:len(x)]
	for j, v := range x {
		if !(v > least && v < most) {
			y[j] = float32(math.Exp(float64(v)))
			if v < least {
				y[j] = 0
			}
			continue
		}
		shifted := v*perLog2 + round
		n := shifted - round
		r := v - n*log2High - n*log2Low
		square := r * r
		low := float32(1.6666665459e-1)*r + 5.0000001201e-1
		middle := float32(8.3334519073e-3)*r + 4.1665795894e-2
		high := float32(1.9875691500e-4)*r + 1.3981999507e-3
		p := (high*square+middle)*square + low
		y[j] = (p*square + r + 1) * math.Float32frombits(uint32(int32(n)+127)<<23)
	}
}
