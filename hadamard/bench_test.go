package hadamard_test

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
)

// measure runs f and reports the rate at which vectors of order n pass it: n·log₂ n additions are
// counted for one, whatever the order is.
func measure[T dense.Float](b *testing.B, vectors, n int, f func()) {
	f() // builds what is kept
	for b.Loop() {
		f()
	}
	report[T](b, vectors, n)
}

// report reports the rate of b.
func report[T dense.Float](b *testing.B, vectors, n int) {
	var element T
	b.SetBytes(int64(vectors) * int64(n) * int64(unsafe.Sizeof(element)))
	b.ReportAllocs()
	additions := float64(vectors) * float64(n) * math.Log2(float64(n)) * float64(b.N)
	b.ReportMetric(additions/float64(b.Elapsed().Nanoseconds()), "Gadd/s")
}

func benchmarkTransform[T dense.Float](b *testing.B) {
	orders := []int{96, 192, 384, 768, 1536, 5120, 12288}
	for n := 2; n <= 1<<24; n *= 2 {
		orders = append(orders, n)
	}
	buffer := make([]T, 1<<24) // zeros stay zeros: values do not grow
	for _, n := range orders {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			x := buffer[:n]
			hadamard.Transform(x) // builds what is kept
			for b.Loop() {
				hadamard.Transform(x) // no function between, as short calls are timed too
			}
			report[T](b, 1, n)
		})
	}
}

func BenchmarkTransform(b *testing.B) {
	b.Run("type=float32", benchmarkTransform[float32])
	b.Run("type=float64", benchmarkTransform[float64])
}

func benchmarkTransformRows[T dense.Float](b *testing.B) {
	const rows, n = 4096, 256
	x := dense.New[T](rows, n)
	b.Run(fmt.Sprintf("rows=%d/n=%d", rows, n), func(b *testing.B) {
		measure[T](b, rows, n, func() { hadamard.TransformRows(x) })
	})
}

func BenchmarkTransformRows(b *testing.B) {
	b.Run("type=float32", benchmarkTransformRows[float32])
	b.Run("type=float64", benchmarkTransformRows[float64])
}

func benchmarkRotationVector[T dense.Float](b *testing.B) {
	for _, d := range []int{384, 768, 1024, 1536, 3072} {
		r, err := hadamard.NewRotation[T](d, hadamard.RotationOptions{}, exprand.NewSource(1))
		if err != nil {
			b.Fatal(err)
		}
		x, y := make([]T, d), make([]T, d)
		for i := range x {
			x[i] = T(i%7) - 3
		}
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			b.SetBytes(int64(d) * int64(unsafe.Sizeof(x[0])))
			b.ReportAllocs()
			for b.Loop() {
				r.ApplyVec(y, x)
			}
		})
	}
}

func benchmarkRotation[T dense.Float](b *testing.B) {
	const rows, k = 256, 3
	for _, d := range []int{300, 768, 1024, 1500} {
		r, err := hadamard.NewRotation[T](d, hadamard.RotationOptions{Factors: k}, exprand.NewSource(1))
		if err != nil {
			b.Fatal(err)
		}
		_, order := r.Dims()
		x, y := dense.New[T](rows, d), dense.New[T](rows, order)
		b.Run(fmt.Sprintf("rows=%d/d=%d/k=%d", rows, d, k), func(b *testing.B) {
			measure[T](b, rows*k, d, func() { r.Apply(y, x) })
		})
	}
}

// BenchmarkRotation rotates one vector and 256 rows.
func BenchmarkRotation(b *testing.B) {
	b.Run("vector/type=float32", benchmarkRotationVector[float32])
	b.Run("vector/type=float64", benchmarkRotationVector[float64])
	b.Run("rows/type=float32", benchmarkRotation[float32])
	b.Run("rows/type=float64", benchmarkRotation[float64])
}
