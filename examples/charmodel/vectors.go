package main

import (
	"sync"

	"gonum.org/v1/gonum/blas"

	fast "github.com/seed-feabd252/randfeat/blas"
	"github.com/seed-feabd252/randfeat/dense"
)

// rowGrain and elementGrain are how many rows or numbers a goroutine takes.
const (
	rowGrain     = 64
	elementGrain = 1 << 14
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

// scale computes x *= alpha.
func scale[T dense.Float](x []T, alpha T) {
	for j := range x {
		x[j] *= alpha
	}
}

// squaredNorm returns Σx². One sum alone would wait for each addition.
func squaredNorm[T dense.Float](x []T) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		s0 += a * a
		s1 += b * b
		s2 += c * c
		s3 += d * d
	}
	for _, v := range x {
		s0 += float64(v) * float64(v)
	}
	return (s0 + s1) + (s2 + s3)
}
