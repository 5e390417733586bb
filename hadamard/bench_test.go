package hadamard

import (
	"fmt"
	"testing"
	"unsafe"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
)

func benchmarkTransform[T dense.Float](b *testing.B) {
	for _, n := range []int{64, 1024, 16384, 1 << 20} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			x := make([]T, n) // zeros stay zeros: values do not grow
			b.SetBytes(int64(n) * int64(unsafe.Sizeof(x[0])))
			b.ReportAllocs()
			for b.Loop() {
				Transform(x)
			}
		})
	}
}

func BenchmarkTransform(b *testing.B) {
	b.Run("type=float32", benchmarkTransform[float32])
	b.Run("type=float64", benchmarkTransform[float64])
}

func benchmarkRotation[T dense.Float](b *testing.B) {
	for _, n := range []int{64, 1024} {
		r, err := NewRotation[T](n, 3, exprand.NewSource(1))
		if err != nil {
			b.Fatal(err)
		}
		x, y := normal[T](1, 256, n), dense.New[T](256, n)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(y.Data)) * int64(unsafe.Sizeof(y.Data[0])))
			b.ReportAllocs()
			for b.Loop() {
				r.Apply(y, x)
			}
		})
	}
}

// BenchmarkRotation rotates 256 rows of n elements with three factors.
func BenchmarkRotation(b *testing.B) {
	b.Run("type=float32", benchmarkRotation[float32])
	b.Run("type=float64", benchmarkRotation[float64])
}
