package hadamard_test

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
)

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
