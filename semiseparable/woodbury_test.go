package semiseparable

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// full returns Λ + QKᵀ in float64.
func full[T dense.Float](diag []T, q, k dense.Matrix[T]) dense.Matrix[float64] {
	a := dense.New[float64](q.Rows, q.Rows)
	for i := range q.Rows {
		x, row := q.Row(i), a.Row(i)
		for j := range row {
			for l, y := range k.Row(j) {
				row[j] += float64(x[l]) * float64(y)
			}
		}
		if diag == nil {
			a.Data[i*a.Stride+i]++
		} else {
			a.Data[i*a.Stride+i] += float64(diag[i])
		}
	}
	return a
}

func testWoodbury[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, c := range [][3]int{{1, 0, 2}, {1, 1, 1}, {5, 9, 3}, {40, 0, 3}, {257, 20, 1}, {520, 30, 70}} {
		n, d, p := c[0], c[1], c[2]
		m, v := deltaRule[T](rng, n, d), densetest.Normal[T](rng, n, p, 0, 1)
		for _, diag := range [][]T{nil, diagonal[T](rng, n)} {
			a := full(diag, m.Q, m.K)
			q, _ := embed(t, m.Q)
			w, err := NewWoodbury(diag, q, m.K)
			require.NoError(t, err)
			var lu mat.LU
			lu.Factorize(gonum.ToMat(a))
			// The forward error of a solution by way of S.
			tolerance := 8 * float64(n+d) * roundoff[T]() * lu.Cond() * w.Cond()

			dst, check := embed(t, v)
			y, err := w.Solve(dst, v)
			require.NoError(t, err)
			check()
			var want mat.Dense
			require.NoError(t, lu.SolveTo(&want, false, gonum.ToMat(dense.Copy(dense.Matrix[float64]{}, v))))
			largest := mat.Norm(&want, math.Inf(1))
			for i := range n {
				for j := range p {
					require.InDelta(t, want.At(i, j), float64(y.At(i, j)), tolerance*largest, "%v (%d, %d)", c, i, j)
				}
			}
			in := v.Clone()
			_, err = w.Solve(in, in)
			require.NoError(t, err)
			assert.Equal(t, y.Clone().Data, in.Data, "in place")

			square, checkSquare := embed(t, densetest.Normal[T](rng, n, n, 0, 1))
			inverse, err := w.Inverse(square)
			require.NoError(t, err)
			checkSquare()
			var product mat.Dense
			product.Mul(gonum.ToMat(a), gonum.ToMat(dense.Copy(dense.Matrix[float64]{}, inverse)))
			for i := range n {
				product.Set(i, i, product.At(i, i)-1)
			}
			require.LessOrEqual(t, mat.Norm(&product, math.Inf(1)), tolerance)

			log, sign := w.LogDet()
			wantLog, wantSign := lu.LogDet()
			assert.InDelta(t, wantLog, log, tolerance)
			assert.Equal(t, wantSign, sign)
		}
	}
}

func TestWoodbury(t *testing.T) { densetest.Both(t, testWoodbury[float32], testWoodbury[float64]) }

func testSingular[T dense.Float](t *testing.T) {
	q := dense.Of(2, 2, []T{1, 0, 0, -1})
	_, err := NewWoodbury(nil, q, dense.Of(2, 2, []T{1, 0, 0, 1}))
	var e *SingularError
	require.ErrorAs(t, err, &e)
	assert.Greater(t, e.Cond, 1/roundoff[T]())

	// S = diag(2, s), and 2/s on either side of the limit.
	for scale, singular := range map[float64]bool{1.5: true, 8: false} {
		k := dense.Of(4, 2, []T{1, 0, 0, -0.5, 0, -0.5, 0, T(scale * roundoff[T]())})
		_, err := NewWoodbury(nil, dense.Of(4, 2, []T{1, 0, 0, 1, 0, 1, 0, 1}), k)
		assert.Equal(t, singular, errors.As(err, &e), "s = %g·u: %v", scale, err)
	}

	w, err := NewWoodbury(nil, dense.New[T](3, 1), dense.New[T](3, 1))
	require.NoError(t, err)
	v := dense.Of(3, 1, []T{0, T(math.NaN()), 0})
	_, err = w.Solve(v, v)
	assert.EqualError(t, err, "semiseparable: v[1] holds NaN, want a finite element")

	small := smallestNormal[T]()
	w, err = NewWoodbury([]T{small, small}, dense.New[T](2, 0), dense.New[T](2, 0))
	require.NoError(t, err)
	_, err = w.Solve(dense.Matrix[T]{}, dense.Of(2, 1, []T{0, 8}))
	assert.EqualError(t, err, "semiseparable: row 1 of the result overflows")
	_, err = NewWoodbury([]T{small, 1}, dense.Of(2, 1, []T{1, 0}), dense.Of(2, 1, []T{8, 0}))
	assert.EqualError(t, err, "semiseparable: KᵀΛ⁻¹Q overflows")

	wide := dense.New[T](1, 1<<22)
	_, err = NewWoodbury(nil, wide, wide)
	assert.ErrorContains(t, err, "semiseparable: q is 1×4194304, the capacitance matrix 4194304×4194304: 128 TiB of memory, want at most ")
}

func TestSingular(t *testing.T) { densetest.Both(t, testSingular[float32], testSingular[float64]) }

// S = [1 a a; 0 1 0; 0 0 1] has the inverse [1 −a −a; 0 1 0; 0 0 1]. Columns of both sum to 1 + |a|
// at most and rows to 1 + 2|a|, so that the condition number of S is (1 + |a|)² in the 1-norm, and
// (1 + 2|a|)² in the ∞-norm. The transpose has them the other way round.
func testConditionNorm[T dense.Float](t *testing.T) {
	unit := dense.Of(3, 3, []T{1, 0, 0, 0, 1, 0, 0, 0, 1})
	upper := func(a T) dense.Matrix[T] { return dense.Of(3, 3, []T{0, a, a, 0, 0, 0, 0, 0, 0}) }
	w, err := NewWoodbury(nil, upper(3), unit)
	require.NoError(t, err)
	assert.InDelta(t, 16, w.Cond(), 1e-12)
	y, err := w.Solve(dense.Matrix[T]{}, dense.Of(3, 1, []T{1, 2, 3}))
	require.NoError(t, err)
	assert.InDeltaSlice(t, []T{1 - 3*5, 2, 3}, y.Data, 1e-6)
	w, err = NewWoodbury(nil, unit, upper(3))
	require.NoError(t, err)
	assert.InDelta(t, 49, w.Cond(), 1e-12)
	y, err = w.Solve(dense.Matrix[T]{}, dense.Of(3, 1, []T{1, 2, 3}))
	require.NoError(t, err)
	assert.InDeltaSlice(t, []T{1, 2 - 3, 0}, y.Data, 1e-6)

	_, err = NewWoodbury(nil, upper(1<<27), unit)
	var e *SingularError
	require.ErrorAs(t, err, &e)
	assert.InEpsilon(t, 0x1p54, e.Cond, 1e-7)
}

func TestConditionNorm(t *testing.T) {
	densetest.Both(t, testConditionNorm[float32], testConditionNorm[float64])
}
