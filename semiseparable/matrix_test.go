package semiseparable

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
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
				assert.InDelta(t, want.At(i, j), float64(got.At(i, j)), d*roundoff[T]()*size.At(i, j))
			}
		}
		log, sign := m.LogDet()
		wantLog, wantSign := mat.LogDet(gonum.ToMat(want))
		assert.InDelta(t, wantLog, log, n*0x1p-50)
		assert.Equal(t, wantSign, sign)
		m.Diag = diagonal[T](rng, n)
	}
}

func TestDense(t *testing.T) { densetest.Both(t, testDense[float32], testDense[float64]) }

func TestLogDetOfSingular(t *testing.T) {
	m := Matrix[float32]{Diag: []float32{-2, 0, 3}, Q: dense.New[float32](3, 1), K: dense.New[float32](3, 1)}
	log, sign := m.LogDet()
	assert.Equal(t, math.Inf(-1), log)
	assert.Zero(t, sign)
	m.Diag[1] = float32(math.NaN())
	log, _ = m.LogDet()
	assert.True(t, math.IsNaN(log))
}
