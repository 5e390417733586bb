package semiseparable

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func testDense[T dense.Float](t *testing.T) {
	const n, d = 131, 7
	rng := rand.New(rand.NewPCG(25, 26))
	m := deltaRule[T](rng, n, d)
	for range 2 {
		want, size := truth(m, false)
		got, check := embed(t, densetest.Normal[T](rng, n, n, 0, 1))
		m.Dense(got)
		check()
		for i := range n {
			for j := range n {
				assert.InDelta(t, want.At(i, j), float64(got.At(i, j)), d*vecmath.Roundoff[T]()*size.At(i, j))
			}
		}
		m.Diag = diagonal[T](rng, n)
	}
}

func TestDense(t *testing.T) { densetest.Both(t, testDense[float32], testDense[float64]) }

func testInverse[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, c := range cuts {
		m := deltaRule[T](rng, c.n, c.d)
		m.Diag = diagonal[T](rng, c.n)
		dst := densetest.Normal[T](rng, c.n, c.n, 0, 1)
		got, err := m.inverse(dst, c.chunk)
		require.NoError(t, err)
		identity := dense.New[T](c.n, c.n)
		for i := range c.n {
			identity.Set(i, i, 1)
			for j := i + 1; j < c.n; j++ {
				require.Zero(t, got.At(i, j), "(%d, %d)", i, j)
			}
		}
		a, size := truth(m, false)
		// An inverse is used where Solve substitutes: condition numbers of chunks, up to
		// 50 for the operands here, come in.
		tolerance := 50 * tolerance[T](c.n, c.d, c.chunk)
		require.LessOrEqual(t, backwardError(a, size, got, identity), tolerance, "%+v", c)
	}
}

func TestInverse(t *testing.T) { densetest.Both(t, testInverse[float32], testInverse[float64]) }
