package semiseparable

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// TestIllConditioned solves systems whose solutions are of moderate size, though those of others
// with the same matrix grow by many orders of magnitude: independent q and k, and diagonals down to
// a hundredth. Solutions by inverses of the triangles of order 16 would be off by as much as
// the terms that cancel.
func TestIllConditioned(t *testing.T) {
	densetest.Both(t, testIllConditioned[float32], testIllConditioned[float64])
}

func testIllConditioned[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	solved := 0
	for _, scale := range []float64{1, 0.1, 0.01} {
		for _, d := range []int{2, 8, 32} {
			for _, n := range []int{5, 16, 33, 100} {
				m := Matrix[T]{Q: densetest.Normal[T](rng, n, d, 0, 1), K: densetest.Normal[T](rng, n, d, 0, 1), Diag: diagonal[T](rng, n)}
				for i := range m.Diag {
					m.Diag[i] *= T(scale)
				}
				x := densetest.Normal[T](rng, n, 3, 0, 1)
				for _, transposed := range []bool{false, true} {
					a, size := truth(m, transposed)
					v := times(a, x)
					y, err := m.solve(dense.Matrix[T]{}, v, transposed, m.tuned())
					if err != nil {
						var e *OverflowError
						require.ErrorAs(t, err, &e)
						continue
					}
					solved++
					assert.LessOrEqual(t, backwardError(a, size, y, v), tolerance[T](n, d, m.tuned().chunk),
						"λ about %g, n = %d, d = %d, transposed = %v", scale, n, d, transposed)
				}
			}
		}
	}
	assert.Greater(t, solved, 40, "not all of them overflow")
}

// TestOverflowOfInverse solves a system whose inverse overflows and whose solution does not.
func TestOverflowOfInverse(t *testing.T) {
	m := Matrix[float64]{Q: dense.Of(3, 1, []float64{0, 1e200, 1e200}), K: dense.Of(3, 1, []float64{1, 1, 1})}
	y, err := m.Solve(dense.Matrix[float64]{}, dense.Of(3, 1, []float64{0, 0, 8}))
	require.NoError(t, err)
	assert.Equal(t, []float64{0, 0, 8}, y.Data)
	_, err = m.Inverse(dense.Matrix[float64]{})
	var e *OverflowError
	require.ErrorAs(t, err, &e)
}
