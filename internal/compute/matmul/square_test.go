package matmul

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/compute/cache"
)

// AddSquare is the sum of products, for orders around multiples of panels and of bands, and writes
// nothing beyond the rows and the columns of its bands.
func TestAddSquare(t *testing.T) {
	bothOnEveryTier(t, func(t *testing.T) { testAddSquare[float32](t, 0x1p-24) }, func(t *testing.T) { testAddSquare[float64](t, 0x1p-53) })
}

func testAddSquare[T Float](t *testing.T, eps float64) {
	const height = 64
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{0, 1, 7, 256, 300} {
		for _, n := range []int{0, 1, 5, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 128, 130} {
			p := random[T](rng, k, n)
			var bands []matrix[T]
			var before []matrix[T]
			for lo := 0; lo < n; lo += height {
				b := random[T](rng, min(height, n-lo), min(lo+height, n))
				bands = append(bands, b)
				old := b
				old.Data = append([]T(nil), b.Data...)
				before = append(before, old)
			}
			AddSquare(p, height, bands)
			for i := range n {
				b, old := bands[i/height], before[i/height]
				for j := range b.Stride {
					got, was := float64(b.Data[i%height*b.Stride+j]), float64(old.Data[i%height*b.Stride+j])
					if j >= b.Cols {
						require.Equal(t, was, got, "guard (%d, %d)", i, j)
						continue
					}
					if j > i {
						continue
					}
					sum, size := was, math.Abs(was)
					for l := range k {
						v := float64(p.Data[l*p.Stride+i]) * float64(p.Data[l*p.Stride+j])
						sum += v
						size += math.Abs(v)
					}
					require.InDelta(t, sum, got, float64(k+3)*eps*size, "%d×%d (%d, %d)", k, n, i, j)
				}
			}
		}
	}
}

//ci:race
func TestAddSquareOnProcessors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := random[float32](rng, 700, 500)
	compute := func() []matrix[float32] {
		var bands []matrix[float32]
		for lo := 0; lo < 500; lo += 128 {
			bands = append(bands, matrix[float32]{Rows: min(128, 500-lo), Cols: min(lo+128, 500), Stride: lo + 128, Data: make([]float32, 128*(lo+128))})
		}
		AddSquare(p, 128, bands)
		return bands
	}
	want := compute()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	require.Equal(t, want, compute())
	require.Panics(t, func() { AddSquare(p, 128, want[1:]) })
	require.Panics(t, func() { AddSquare(p, 100, want) })
}

// More columns than stay in the second cache are cut into slabs.
func TestAddSquareInSlabs(t *testing.T) {
	const k, n, height = 20, 700, 128
	p := random[float64](rand.New(rand.NewPCG(1, 2)), k, n)
	var bands []matrix[float64]
	for lo := 0; lo < n; lo += height {
		bands = append(bands, matrix[float64]{Rows: min(height, n-lo), Cols: min(lo+height, n), Stride: lo + height, Data: make([]float64, height*(lo+height))})
	}
	want := matrix[float64]{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
	TMul(1, p, p, 0, want)
	old := cache.L2
	defer func() { cache.L2 = old }()
	cache.L2 = 16 << 10
	AddSquare(p, height, bands)
	for i := range n {
		b := bands[i/height]
		for j := range i + 1 {
			size := 0.0
			for l := range k {
				size += math.Abs(p.Data[l*p.Stride+i] * p.Data[l*p.Stride+j])
			}
			require.InDelta(t, want.Data[i*n+j], b.Data[i%height*b.Stride+j], 2*k*0x1p-53*size, "(%d, %d)", i, j)
		}
	}
}
