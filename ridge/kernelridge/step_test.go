package kernelridge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

// BenchmarkStep has the times of a product with a kernel matrix, and of the products XXᵀ, KV and
// KᵀV of its tiles alone.
func BenchmarkStep(b *testing.B) {
	b.Run("type=float32", benchmarkStep[float32])
	b.Run("type=float64", benchmarkStep[float64])
}

func benchmarkStep[T dense.Float](b *testing.B) {
	const n, tile, block = 8192, 64, 256
	for c := range 12 {
		k := []kernels.Kernel{kernels.Gaussian{LengthScale: 3}, kernels.Matern{Nu: 2.5, LengthScale: 3}}[c/6]
		d, width := []int{8, 20, 64}[c/2%3], []int{2, 27}[c%2] // a column for the constant
		rng := rand.New(rand.NewPCG(1, 2))
		x, v := densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, width, 0, 1)
		right, dst := dense.Copy(dense.Matrix[float64]{}, v), dense.New[float64](n, width)
		o := newOperator(k, dense.Copy(dense.Matrix[float64]{}, x), nil, make([]float64, d))
		g, sums, other := dense.New[T](tile, block), dense.New[T](tile, width), dense.New[T](block, width)
		for name, f := range map[string]func(){
			"step": func() { _ = o.Multiply(b.Context(), dst, right, densetest.Roundoff[T]() < 1e-10) },
			"products": func() {
				var packed matmul.Packed[T]
				for to := 0; to < n; to += block {
					matmul.PackT(&packed, x.RowRange(to, to+block))
					for lo := 0; lo < to+block; lo += tile {
						matmul.MulPacked(1, x.RowRange(lo, lo+tile), &packed, 0, g, nil)
						matmul.MulInPlace(1, g, v.RowRange(to, to+block), 0, sums)
						matmul.TMulInPlace(1, g, v.RowRange(lo, lo+tile), 1, other)
					}
				}
			},
		} {
			b.Run(fmt.Sprintf("%T/d=%d/outputs=%d/%s", k, d, width-1, name), func(b *testing.B) {
				for b.Loop() {
					f()
				}
			})
		}
	}
}

func TestDefaultRank(t *testing.T) {
	for n, want := range map[int]int{500: 500, 10_000: 1000, 100_000: 2529, 1_000_000: 4000} {
		o, err := Options{Ratio: 1, Src: rand.NewPCG(1, 2)}.sized(n)
		require.NoError(t, err)
		assert.Equal(t, want, o.Rank, "%d rows", n)
	}
}

// BenchmarkFit has the time of a fit to 100,000 rows of 20 columns and one target, to a relative
// residual of 10⁻⁴, by ranks of the preconditioner, and the number of products.
func BenchmarkFit(b *testing.B) {
	const n, d = 100_000, 20
	rng := rand.New(rand.NewPCG(1, 2))
	rows := ridge.Block[float32]{X: dense.New[float32](n, d), Y: dense.New[float32](n, 1)}
	for i := range n {
		x := rows.X.Row(i)
		for j := range x {
			x[j] = float32(math.Sqrt(3) * (2*rng.Float64() - 1))
		}
		f := 0.5 * rng.NormFloat64()
		for j := 0; j < d; j += 2 {
			f += math.Sin(float64(x[j] * x[j+1]))
		}
		rows.Y.Set(i, 0, float32(f))
	}
	k := kernels.Matern{Nu: 2.5, LengthScale: 2 * math.Sqrt(d)}
	for _, rank := range []int{2000, 3000, 4000} {
		b.Run(fmt.Sprintf("rank=%d", rank), func(b *testing.B) {
			products := 0
			for b.Loop() {
				_, err := Fit(b.Context(), k, rows, Options{
					Ratio: 1.0 / 64, Rank: rank, Tolerance: 1e-4, Src: rand.NewPCG(1, 2), Progress: func(p Progress) { products = p.Iterations },
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(products), "products")
		})
	}
}
