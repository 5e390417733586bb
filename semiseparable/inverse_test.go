package semiseparable

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

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
