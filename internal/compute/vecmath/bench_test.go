package vecmath

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func normals[T Float](n int) []T {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.NormFloat64())
	}
	return x
}

// benchmark runs f, which reads x and writes y and z, on standard normals.
func benchmark[T Float](b *testing.B, f func(y, z, x []T)) {
	for _, n := range []int{256, 65536} {
		x, y, z := normals[T](n), make([]T, n), make([]T, n)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.SetBytes(int64(n) * int64(unsafe.Sizeof(x[0])))
			b.ReportAllocs()
			for b.Loop() {
				f(y, z, x)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()*1e-6, "Melem/s")
		})
	}
}

func BenchmarkExp(b *testing.B) {
	b.Run("type=float32", func(b *testing.B) { benchmark(b, func(y, _, x []float32) { Exp(y, x) }) })
	b.Run("type=float64", func(b *testing.B) { benchmark(b, func(y, _, x []float64) { Exp(y, x) }) })
}

func BenchmarkSincos(b *testing.B) {
	b.Run("type=float32", func(b *testing.B) { benchmark(b, func(y, z, x []float32) { Sincos(y, z, x) }) })
	b.Run("type=float64", func(b *testing.B) { benchmark(b, func(y, z, x []float64) { Sincos(y, z, x) }) })
}
