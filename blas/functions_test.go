package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/blas"
	"github.com/seed-feabd252/randfeat/dense"
)

// Mul, TMul and Syrk are sums of products, to k·eps·Σ|terms|.
func TestFunctions(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testFunctions[float32](t, 0x1p-24) })
	t.Run("type=float64", func(t *testing.T) { testFunctions[float64](t, 0x1p-53) })
}

func testFunctions[T dense.Float](t *testing.T, eps float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	matrix := func(r, c int) dense.Matrix[T] {
		return dense.Matrix[T]{Rows: r, Cols: c, Data: normal[T](rng, r*(c+2)), Stride: c + 2}
	}
	const k, m, n = 37, 200, 9
	a, at, b := matrix(m, k), dense.New[T](k, m), matrix(k, n)
	dense.Transpose(at, a)
	check := func(got dense.Matrix[T], right func(l, j int) T) {
		require.Equal(t, m, got.Rows)
		for i := range got.Rows {
			for j, v := range got.Row(i) {
				sum, size := 0.0, 0.0
				for l := range k {
					term := float64(a.At(i, l)) * float64(right(l, j))
					sum += term
					size += math.Abs(term)
				}
				require.InDelta(t, sum, float64(v), (k+1)*eps*size, "(%d, %d)", i, j)
			}
		}
	}
	dst := matrix(m, n)
	check(blas.Mul(dst, a, b), b.At)
	check(dst, b.At)
	check(blas.TMul(dense.Matrix[T]{}, at, b), b.At)
	square := blas.Syrk(dense.Matrix[T]{}, at)
	check(square, at.At)
	for i := range m {
		for j := range i {
			require.Equal(t, square.At(i, j), square.At(j, i))
		}
	}
	none := blas.Syrk(square, dense.New[T](0, m))
	assert.Equal(t, dense.New[T](m, m), none)
	assert.Equal(t, dense.New[T](m, n), blas.Mul(dst, dense.New[T](m, 0), dense.New[T](0, n)).Clone())
}

func TestFunctionsPanic(t *testing.T) {
	a, b := dense.New[float64](2, 3), dense.New[float64](2, 3)
	assert.PanicsWithValue(t, "blas: Mul of 2×3 and 2×3 does not fit", func() { blas.Mul(a, a, b) })
	assert.PanicsWithValue(t, "blas: TMul of 2×3 and 3×2 does not fit", func() { blas.TMul(a, a, dense.New[float64](3, 2)) })
	assert.Panics(t, func() { blas.Syrk(a, b) })
}
