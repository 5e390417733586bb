package triangular

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// T·(T⁻¹·W) is W again, and Tᵀ·(T⁻ᵀ·W), for orders on both sides of multiples of Block.
// What is on the diagonal and above is NaN where it must not be read.
func TestSolutionsSolve(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testSolutions[float32](t, 2e-5) })
	t.Run("type=float64", func(t *testing.T) { testSolutions[float64](t, 4e-14) })
}

func testSolutions[T dense.Float](t *testing.T, tolerance float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 15, 16, 17, 32, 47, 64} {
		for _, unit := range []bool{true, false} {
			var diag []T
			lower, prepared := dense.New[T](n, n), dense.New[T](n, n+3).ColRange(1, n+1)
			for i := range n {
				for j := range n {
					prepared.Row(i)[j] = T(math.NaN())
					if j < i {
						lower.Row(i)[j] = T(rng.NormFloat64() / math.Sqrt(float64(n)))
						prepared.Row(i)[j] = lower.At(i, j)
					}
				}
				lower.Set(i, i, 1)
				if !unit {
					diag = append(diag, T(1+rng.Float64()))
					lower.Set(i, i, diag[i])
				}
			}
			var f Factor[T]
			f.Set(prepared, diag)
			for _, transposed := range []bool{false, true} {
				const cols = 5
				w := dense.New[T](n, cols)
				for i := range w.Data {
					w.Data[i] = T(rng.NormFloat64())
				}
				x, again := w.Clone(), dense.New[T](n, cols)
				if transposed {
					f.SolveTransposed(x)
					matmul.TMul(1, lower, x, 0, again)
				} else {
					f.Solve(x)
					matmul.Mul(1, lower, x, 0, again)
				}
				for i := range w.Data {
					require.InDelta(t, float64(w.Data[i]), float64(again.Data[i]), tolerance, fmt.Sprintf("n = %d, transposed = %v", n, transposed))
				}
			}
		}
	}
}
