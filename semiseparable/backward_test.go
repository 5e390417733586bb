package semiseparable

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func testBackward[T dense.Float](t *testing.T) {
	const n, d, p = 200, 20, 5
	rng := rand.New(rand.NewPCG(23, 24))
	m, v := deltaRule[T](rng, n, d), densetest.Normal[T](rng, n, p, 0, 1)
	m.Diag = diagonal[T](rng, n)
	for transposed, solve := range map[bool]func(dst, v dense.Matrix[T]) (dense.Matrix[T], error){false: m.Solve, true: m.SolveTransposed} {
		backward := m.BackwardError
		if transposed {
			backward = m.BackwardErrorTransposed
		}
		y, err := solve(dense.Matrix[T]{}, v)
		require.NoError(t, err)
		a, size := truth(m, transposed)
		bound := tolerance[T](n, d, m.tuned().chunk)
		assert.InDelta(t, backwardError(a, size, y, v), backward(y, v), n*0x1p-52, "the two agree")
		assert.LessOrEqual(t, backward(y, v), bound)

		// Faults in one element, in a row that was left out, and in one side.
		faulty := y.Clone()
		faulty.Data[n*p/2] *= 1 + T(math.Sqrt(bound))
		assert.Greater(t, backward(faulty, v), bound, "a factor of %g", 1+math.Sqrt(bound))
		copy(faulty.Row(90), v.Row(90))
		assert.Greater(t, backward(faulty, v), 1e-3, "a row that was left out")
		assert.Greater(t, backward(v, y), 1e-3, "solution and right-hand side exchanged")

		faulty.Data[3] = T(math.NaN())
		assert.True(t, math.IsNaN(backward(faulty, v)))
		assert.True(t, math.IsNaN(backward(y, faulty)))
	}
	none := Matrix[T]{Q: dense.New[T](3, 1), K: dense.New[T](3, 1)}
	assert.Zero(t, none.BackwardError(dense.New[T](3, 2), dense.New[T](3, 2)), "0/0")
	assert.Equal(t, 1.0, none.BackwardError(dense.New[T](3, 1), dense.Of(3, 1, []T{0, 1, 0})))
}

func TestBackwardError(t *testing.T) { densetest.Both(t, testBackward[float32], testBackward[float64]) }
