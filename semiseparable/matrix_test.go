package semiseparable

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

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
