package semiseparable

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func testPivots[T dense.Float](t *testing.T) {
	least := float64(smallestNormal[T]())
	rng := rand.New(rand.NewPCG(17, 18))
	m, v := deltaRule[T](rng, 60, 3), densetest.Normal[T](rng, 60, 2, 0, 1)
	m.Diag = diagonal[T](rng, 60)
	for _, bad := range []float64{0, math.Copysign(0, -1), least / 2, -least / 4, 2 / least, math.Inf(-1), math.NaN()} {
		old := m.Diag[37]
		m.Diag[37] = T(bad)
		_, solve := m.Solve(dense.Matrix[T]{}, v)
		_, transposed := m.SolveTransposed(dense.Matrix[T]{}, v)
		_, inverse := m.Inverse(dense.Matrix[T]{})
		for _, err := range []error{solve, transposed, inverse} {
			var e *ElementError
			require.ErrorAs(t, err, &e, "%g", bad)
			assert.Equal(t, "diag", e.Argument)
			assert.Equal(t, 37, e.Row)
		}
		m.Diag[37] = old
	}
	for _, good := range []float64{least, -least, 1 / least} {
		require.NoError(t, checkPivots([]T{T(good)}), "%g", good)
	}
}

func TestPivots(t *testing.T) { densetest.Both(t, testPivots[float32], testPivots[float64]) }

func TestErrorText(t *testing.T) {
	assert.EqualError(t, &ElementError{"k", 3, math.NaN()}, "semiseparable: k[3] holds NaN, want a finite element")
	assert.EqualError(t, &ElementError{"diag", 3, 0}, "semiseparable: diag[3] holds 0, want an element that is normal, and so is its reciprocal")
	assert.EqualError(t, &OverflowError{7}, "semiseparable: row 7 of the result overflows")
}

// TestEveryElementIsLookedAt plants NaN and ±Inf in every argument, in rows that
// the result depends on and rows that it does not.
func TestEveryElementIsLookedAt(t *testing.T) {
	densetest.Both(t, testPlanted[float32], testPlanted[float64])
}

func testPlanted[T dense.Float](t *testing.T) {
	const n, p = 100, 70
	rng := rand.New(rand.NewPCG(19, 20))
	for _, d := range []int{0, 1, 9} {
		m, x := deltaRule[T](rng, n, d), densetest.Normal[T](rng, n, p, 0, 1)
		m.Diag = diagonal[T](rng, n)
		operands := map[string]dense.Matrix[T]{"q": m.Q, "k": m.K, "v": x}
		for name, operand := range operands {
			for _, row := range []int{0, 1, 47, 48, 99} {
				for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					if operand.Cols == 0 {
						continue
					}
					at := operand.Cols / 2
					old := operand.At(row, at)
					operand.Set(row, at, T(bad))
					wanted := fmt.Sprintf("semiseparable: %s[%d] holds %g, want a finite element", name, row, bad)
					for _, transposed := range []bool{false, true} {
						_, err := m.solve(dense.Matrix[T]{}, x, transposed, m.tuned())
						require.EqualError(t, err, wanted, "transposed: %v", transposed)
						in := x.Clone()
						_, err = m.solve(in, in, transposed, m.tuned())
						require.EqualError(t, err, wanted, "transposed: %v, in place", transposed)
					}
					if name != "v" {
						_, err := m.Inverse(dense.Matrix[T]{})
						require.EqualError(t, err, wanted)
					}
					operand.Set(row, at, old)
				}
			}
		}
		m.Diag[5] = T(math.Inf(1))
		_, err := m.Solve(dense.Matrix[T]{}, x)
		var e *ElementError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, "diag", e.Argument)
		assert.Equal(t, 5, e.Row)
	}
}

// TestOverflow has independent q and k, for which solutions grow exponentially.
func TestOverflow(t *testing.T) { densetest.Both(t, testOverflow[float32], testOverflow[float64]) }

func testOverflow[T dense.Float](t *testing.T) {
	const n, d, p = 3000, 8, 3
	rng := rand.New(rand.NewPCG(21, 22))
	m := Matrix[T]{Q: densetest.Normal[T](rng, n, d, 0, 1), K: densetest.Normal[T](rng, n, d, 0, 1)}
	v := densetest.Normal[T](rng, n, p, 0, 1)
	for _, transposed := range []bool{false, true} {
		got, err := m.solve(dense.Matrix[T]{}, v, transposed, m.tuned())
		var e *OverflowError
		require.ErrorAs(t, err, &e)
		assert.False(t, finite(got.Row(e.Row)))
		for i := range n {
			if (i < e.Row) != transposed && i != e.Row {
				require.True(t, finite(got.Row(i)), "row %d, the error names %d", i, e.Row)
			}
		}
	}
	_, err := m.Inverse(dense.Matrix[T]{})
	var e *OverflowError
	require.ErrorAs(t, err, &e)

	large := Matrix[T]{Q: dense.Of(2, 1, []T{1, 1}), K: dense.Of(2, 1, []T{1 / smallestNormal[T](), 1 / smallestNormal[T]()})}
	y, err := large.Solve(dense.Matrix[T]{}, dense.Of(2, 1, []T{0, 8}))
	require.NoError(t, err, "a sum that overflows after the last row is of no concern")
	assert.Equal(t, []T{0, 8}, y.Data)
}

func TestShapesPanic(t *testing.T) {
	o := func(r, c int) dense.Matrix[float64] { return dense.New[float64](r, c) }
	m := Matrix[float64]{Q: o(4, 2), K: o(4, 2)}
	assert.PanicsWithValue(t, "semiseparable: q is 4×2, k is 4×3, want the same shape", func() { Matrix[float64]{Q: o(4, 2), K: o(4, 3)}.Dims() })
	assert.PanicsWithValue(t, "semiseparable: diag has 3 elements, q is 4×2, want as many as rows", func() { Matrix[float64]{Diag: make([]float64, 3), Q: o(4, 2), K: o(4, 2)}.Dims() })
	assert.PanicsWithValue(t, "semiseparable: v is 5×1, q is 4×2, want as many rows", func() { _, _ = m.Solve(dense.Matrix[float64]{}, o(5, 1)) })
	assert.PanicsWithValue(t, "dense: destination is 4×2, want 4×1", func() { _, _ = m.Solve(o(4, 2), o(4, 1)) })
	assert.PanicsWithValue(t, "dense: destination is 4×3, want 4×4", func() { _, _ = m.Inverse(o(4, 3)) })
}
