package matmul

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// BenchmarkFewRows times products of few rows with a matrix of 64 MiB. Operand halfT is Bᵀ with as
// many elements of 16 bits. Operand dot is the peer:
// gonum's dot product of as many bytes.
func BenchmarkFewRows(b *testing.B) {
	b.Run("type=float32", benchmarkFewRows[float32])
	b.Run("type=float64", benchmarkFewRows[float64])
}

func benchmarkFewRows[T Float](b *testing.B) {
	const n = 4096
	k := n * 4 / simd.Size[T]()
	rng := rand.New(rand.NewPCG(1, 1))
	y := contiguous(random[T](rng, k, n))
	x, z := random[T](rng, 8, n), random[T](rng, 8, n)
	h := Half{Rows: k, Cols: n, Data: make([]uint16, k*n)}
	run := func(name string, bytes int, f func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n * k * bytes))
			for b.Loop() {
				f()
			}
		})
	}
	run("operand=dot", simd.Size[T](), func() {
		const parts = 64
		parallel.Pieces(parts, func(i int) { dots(y.Data[i*n*k/parts:][:n*k/parts], x.Data[:n]) })
	})
	for _, m := range []int{1, 2, 4, 8} {
		rows := func(z matrix[T], cols int) matrix[T] {
			z.Rows, z.Cols = m, cols
			return z
		}
		run(fmt.Sprintf("operand=B/m=%d", m), simd.Size[T](), func() { Mul(1, rows(x, k), y, 0, rows(z, n)) })
		run(fmt.Sprintf("operand=BT/m=%d", m), simd.Size[T](), func() { MulT(1, rows(x, n), y, 0, rows(z, k)) })
		for _, bfloat := range []bool{false, true} {
			h.BFloat = bfloat
			run(fmt.Sprintf("operand=halfT/bfloat=%v/m=%d", bfloat, m), 2, func() { MulTHalf(1, rows(x, n), h, 0, rows(z, k)) })
		}
	}
}

// dots computes gonum's dot products of x with y, len(y) elements at a time.
func dots[T Float](x, y []T) {
	for ; len(x) > 0; x = x[len(y):] {
		switch x := any(x).(type) {
		case []float32:
			gonum.Implementation{}.Sdot(len(y), x, 1, any(y).([]float32), 1)
		case []float64:
			gonum.Implementation{}.Ddot(len(y), x, 1, any(y).([]float64), 1)
		}
	}
}
