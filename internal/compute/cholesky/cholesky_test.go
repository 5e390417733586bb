package cholesky_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// product returns GᵀG for normal G (rank×n).
func product(rank, n int) dense.Matrix[float64] {
	rng := rand.New(rand.NewPCG(uint64(rank), uint64(n)))
	g, a := dense.New[float64](rank, n), dense.New[float64](n, n)
	for i := range g.Data {
		g.Data[i] = rng.NormFloat64()
	}
	matmul.TMul(1, g, g, 0, a)
	return a
}

// RᵀR in the order P is the matrix, within n·rank·u of its largest element, for one block and many,
// of full and of smaller rank. NewPivoted does not read below the diagonal.
func TestPivoted(t *testing.T) {
	for _, c := range []struct{ rank, n int }{{1, 1}, {1, 5}, {40, 127}, {128, 128}, {128, 300}, {129, 129}, {200, 300}, {300, 257}} {
		a := product(c.rank, c.n)
		upper, largest := a.Clone(), 0.0
		for i := range c.n {
			largest = max(largest, a.At(i, i))
			for j := range i {
				upper.Set(i, j, math.NaN())
			}
		}
		tolerance := float64(c.n) * 0x1p-52 * largest
		p, err := cholesky.NewPivoted(upper, tolerance)
		require.NoError(t, err)
		require.Equal(t, min(c.rank, c.n), p.Rank, "%v", c)
		again := dense.New[float64](c.n, c.n)
		matmul.TMul(1, p.R, p.R, 0, again)
		for i, at := range p.Order {
			for j, to := range p.Order {
				require.InDelta(t, a.At(at, to), again.At(i, j), 8*tolerance, "%v: %d, %d", c, i, j)
			}
		}
		for i := 1; i < p.Rank; i++ {
			assert.LessOrEqual(t, p.R.At(i, i), p.R.At(i-1, i-1)*(1+0x1p-40), "pivots descend")
		}
		w := dense.New[float64](p.Rank, 1)
		w.Set(0, 0, 1)
		p.Factor().Solve(w)
		for i := range p.Rank {
			sum := 0.0
			for j := range p.Rank {
				sum += again.At(i, j) * w.At(j, 0)
			}
			want := 0.0
			if i == 0 {
				want = 1
			}
			require.InDelta(t, want, sum, 1e-5)
		}
	}
}

func TestPivotedOfAnIndefiniteMatrix(t *testing.T) {
	a := dense.Of(3, 3, []float64{1, 0, 0, 0, 0, 1, 0, 1, 0})
	_, err := cholesky.NewPivoted(a, 1e-15)
	assert.EqualError(t, err, "the residual of elements 1 and 2 is 1, want at most 1e-15 in size")
}

// The columns of R⁻ᵀ of a triangle of several blocks.
func TestInvert(t *testing.T) {
	const n = 300
	a := product(2*n, n)
	f, err := cholesky.New(t.Context(), a.Clone())
	require.NoError(t, err)
	inverse := dense.New[float64](n, n)
	require.NoError(t, f.Invert(t.Context(), func(lo int, w dense.Matrix[float64]) {
		dense.Copy(inverse.ColRange(lo, lo+w.Cols), w)
	}))
	half := a.Clone()
	f.Half(t.Context(), half)
	again := dense.New[float64](n, n)
	matmul.TMul(1, inverse, half, 0, again) // R⁻¹·R⁻ᵀA
	for i := range n {
		for j := range n {
			want := 0.0
			if i == j {
				want = 1
			}
			require.InDelta(t, want, again.At(i, j), 1e-9)
		}
	}
}
