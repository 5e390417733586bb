package semiseparable

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func BenchmarkSolve(b *testing.B) {
	b.Run("type=float32", benchmarkSolve[float32])
	b.Run("type=float64", benchmarkSolve[float64])
}

func benchmarkSolve[T dense.Float](b *testing.B) {
	const d = 100
	for _, n := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprintf("n=%d/d=%d", n, d), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			m, v, y := deltaRule[T](rng, n, d), densetest.Normal[T](rng, n, d, 0, 1), dense.New[T](n, d)
			if _, err := m.Solve(y, v); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = m.Solve(y, v)
			}
			b.ReportMetric(4e-9*float64(n)*d*d*float64(b.N)/b.Elapsed().Seconds(), "GFLOP/s")
		})
	}
}

func BenchmarkInverse(b *testing.B) {
	b.Run("type=float32", benchmarkInverse[float32])
	b.Run("type=float64", benchmarkInverse[float64])
}

func benchmarkInverse[T dense.Float](b *testing.B) {
	const d = 100
	for _, n := range []int{1000, 8000} {
		b.Run(fmt.Sprintf("n=%d/d=%d", n, d), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			m, y := deltaRule[T](rng, n, d), dense.New[T](n, n)
			if _, err := m.Inverse(y); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = m.Inverse(y)
			}
			b.ReportMetric(2e-9*float64(n)*float64(n)*d*float64(b.N)/b.Elapsed().Seconds(), "GFLOP/s")
		})
	}
}
