package triangular

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// A triangle that is as ill-conditioned as can be is solved with a residual of a few
// roundings, relative to the sum of the magnitudes of its terms: an inverse would
// leave one as large as that sum.
func TestIllConditioned(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testIllConditioned[float32](t, 0x1p-24) })
	t.Run("type=float64", func(t *testing.T) { testIllConditioned[float64](t, 0x1p-53) })
}

func testIllConditioned[T dense.Float](t *testing.T, unit float64) {
	rng := rand.New(rand.NewPCG(5, 6))
	const cols = 3 // a panel holds them in every tier
	for _, n := range []int{2, 15, 16, 17} {
		lower, diag := dense.New[T](n, n), make([]T, n)
		x, v, w := dense.New[T](n, cols), dense.New[T](n, cols), dense.New[T](n, cols)
		for i := range n {
			diag[i] = T(math.Exp2(-9 - 2*rng.Float64()))
			lower.Set(i, i, diag[i])
			for j := range i {
				lower.Set(i, j, T(rng.NormFloat64()))
			}
		}
		for i := range x.Data {
			x.Data[i] = T(rng.NormFloat64())
		}
		for _, transposed := range []bool{false, true} {
			var f Factor[T]
			side, solve := lower, f.Solve
			if transposed {
				side, solve = dense.Transpose(dense.Matrix[T]{}, lower), f.SolveTransposed
			}
			matmul.Mul(1, side, x, 0, v)
			f.Set(lower.Clone(), diag)
			require.False(t, f.inverted[0])
			dense.Copy(w, v)
			solve(w)
			assert.LessOrEqual(t, residual(side, w, v), float64(n+4)*unit, "n = %d, transposed = %v", n, transposed)

			width := matmul.PanelWidth[T](cols)
			panel := dense.New[T](n, width)
			dense.Copy(panel.ColRange(0, cols), v)
			var s Scratch[T]
			p := s.PanelFactor(lower.Clone(), diag, transposed)
			require.Equal(t, matmul.Strips[T](n) == n, p.inverted)
			p.Solve(panel)
			assert.LessOrEqual(t, residual(side, panel.ColRange(0, cols), v), float64(n+4)*unit, "panels, n = %d, transposed = %v", n, transposed)
		}
	}
}

// residual returns max |V − A·Y| / (|V| + |A|·|Y|).
func residual[T dense.Float](a, y, v dense.Matrix[T]) float64 {
	worst := 0.0
	for i := range v.Rows {
		for j := range v.Cols {
			sum := float64(v.At(i, j))
			size := math.Abs(sum)
			for l := range y.Rows {
				term := float64(a.At(i, l)) * float64(y.At(l, j))
				sum -= term
				size += math.Abs(term)
			}
			worst = max(worst, math.Abs(sum)/size)
		}
	}
	return worst
}

// The condition number is that of the definition, and infinite or NaN where the inverse
// or the triangle is. The delta rule stays below the limit at its worst: the same key
// always, with strength 2.
func TestCondition(t *testing.T) {
	const n = Block
	prepared := dense.New[float64](n, n)
	var full original[float64]
	for i := range n {
		full[i*Block+i] = 1
		for j := range i {
			full[i*Block+j] = 2
			prepared.Set(i, j, 2)
		}
	}
	var f Factor[float64]
	f.Set(prepared, nil)
	require.Equal(t, []bool{true}, f.inverted)
	want := 0.0
	for i := range n { // |T⁻¹| is |T| here
		sum := 0.0
		for l := range i + 1 {
			for j := range l + 1 {
				sum += full[i*Block+l] * full[l*Block+j]
			}
		}
		want = max(want, sum)
	}
	assert.InDelta(t, want, full.condition(prepared), 1e-12)
	assert.Less(t, want, float64(most)/2)

	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e200} {
		small := dense.Of(3, 3, []float64{0, 0, 0, bad, 0, 0, 0, bad, 0})
		f.Set(small, nil)
		assert.Equal(t, []bool{false}, f.inverted, "%g", bad)
	}
}
