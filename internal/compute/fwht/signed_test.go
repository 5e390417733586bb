package fwht

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

func testSignedBlocks[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	drawn := make([]T, 4*memory/simd.Size[T]())
	for i := range drawn {
		drawn[i] = T(rng.NormFloat64())
	}
	draw := func(n int) []T {
		from := rng.IntN(len(drawn) - n + 1)
		return slices.Clone(drawn[from : from+n])
	}
	for log := range 21 {
		n := 1 << log
		for _, blocks := range []int{1, 3} {
			if n*blocks*simd.Size[T]() > 2*memory {
				continue
			}
			for _, length := range []int{0, 1, n / 3, n - 1, n, n + n/2, blocks * n} {
				if length > blocks*n {
					continue
				}
				src, signs := draw(length), draw(length)
				want := make([]T, blocks*n)
				for i := range src {
					want[i] = src[i] * signs[i]
				}
				for b := range blocks {
					reference(want[b*n : (b+1)*n])
				}
				// The guards stand beside a slice that starts at an odd element.
				dst := draw(blocks*n + 2)
				first, last := dst[0], dst[len(dst)-1]
				Signed(dst[1:1+blocks*n], src, signs, n)
				if got := dst[1 : 1+blocks*n]; !slices.Equal(want, got) {
					require.Equal(t, want, got, "%d blocks of %d, %d given", blocks, n, length)
				}
				require.Equal(t, []T{first, last}, []T{dst[0], dst[len(dst)-1]}, "guards")

				place := make([]T, blocks*n)
				copy(place, src)
				Signed(place, place[:length], signs, n)
				if !slices.Equal(want, place) {
					require.Equal(t, want, place, "in place: %d blocks of %d, %d given", blocks, n, length)
				}
			}
		}
	}
}

//ci:slow
func TestSignedBlocks(t *testing.T) {
	t.Run("type=float32", testSignedBlocks[float32])
	t.Run("type=float64", testSignedBlocks[float64])
}

func testMultiply[T Float](t *testing.T) {
	for n := range 70 {
		x, f, want := make([]T, n), make([]T, n), make([]T, n)
		for i := range n {
			x[i], f[i] = T(i)-7, 1/T(i+1)
			want[i] = x[i] * f[i]
		}
		dst := slices.Repeat([]T{-1}, n+2)
		Multiply(dst[1:n+1], x, f)
		assert.Equal(t, want, dst[1:n+1])
		assert.Equal(t, []T{-1, -1}, []T{dst[0], dst[n+1]}, "guards")
		Multiply(x, x, f)
		assert.Equal(t, want, x, "in place")
	}
}

func TestMultiply(t *testing.T) {
	t.Run("type=float32", testMultiply[float32])
	t.Run("type=float64", testMultiply[float64])
}
