package blocks_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/blocks"
)

// Gradients are the derivatives of outputs along random directions.
func TestDerivatives(t *testing.T) {
	const n, d = 400, 12
	rng := rand.New(densetest.Source(1))
	q, k, v := text[float64](n, d, 7, 8)
	for c, a := range []blocks.Attention[float64]{must.Have(blocks.New[float64](settings[0])), must.Have(blocks.New[float64](settings[2]))} {
		q := q.RowRange(0, n-70*c) // fewer queries without a mask
		testDerivatives(t, rng, a, q, k, v)
	}
}

func testDerivatives(t *testing.T, rng *rand.Rand, a blocks.Attention[float64], q, k, v dense.Matrix[float64]) {
	const step = 1e-5
	dout := densetest.Normal[float64](rng, q.Rows, v.Cols, 0, 1)
	dq, dk, dv := a.Backward(dense.Matrix[float64]{}, dense.Matrix[float64]{}, dense.Matrix[float64]{}, q, k, v, dout)
	for i, x := range []dense.Matrix[float64]{q, k, v} {
		gradient := []dense.Matrix[float64]{dq, dk, dv}[i]
		for range 3 {
			u := densetest.Normal[float64](rng, x.Rows, x.Cols, 0, 1)
			var ends [2]float64
			for j, h := range []float64{step, -step} {
				moved := []dense.Matrix[float64]{q, k, v}
				moved[i] = x.Clone()
				for l := range x.Data {
					moved[i].Data[l] += h * u.Data[l]
				}
				ends[j] = dot(a.Forward(dense.Matrix[float64]{}, moved[0], moved[1], moved[2]), dout)
			}
			want := dot(gradient, u)
			assert.InDelta(t, want, (ends[0]-ends[1])/(2*step), 1e-6*math.Sqrt(dot(gradient, gradient)*dot(u, u)))
		}
	}
}

func dot(a, b dense.Matrix[float64]) (sum float64) {
	for i, x := range a.Data {
		sum += x * b.Data[i]
	}
	return sum
}

// With the Threshold 0 gradients are those of exact attention, in batches with shared keys and
// padding too, whose contents do not matter.
func TestGradientsOfAllBlocks(t *testing.T) {
	densetest.Both(t, testGradientsOfAllBlocks[float32], testGradientsOfAllBlocks[float64])
}

func testGradientsOfAllBlocks[T dense.Float](t *testing.T) {
	const n, left = 300, 37
	rng := rand.New(densetest.Source(2))
	q, k, v := densetest.Normal[T](rng, n, 24, 0, 1), densetest.Normal[T](rng, n, 8, 0, 1), densetest.Normal[T](rng, n, 6, 0, 1)
	dout := densetest.Normal[T](rng, n, 18, 0, 1)
	s := performer.Sequences{Queries: []int{n}, Keys: []int{n}, Valid: make([]bool, n)}
	nan := T(math.NaN())
	for i := range n {
		if s.Valid[i] = i >= left && i != 200 && i < n-3; !s.Valid[i] {
			clear(dout.Row(i))
			q.Row(i)[0], k.Row(i)[0], v.Row(i)[0] = nan, nan, nan
		}
	}
	for _, o := range settings {
		o.Threshold, o.Scale = 0, 0
		var got, want [3]dense.Matrix[T]
		b := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 3, KeyHeads: 1}, must.Have(blocks.New[T](o))))
		got[0], got[1], got[2] = b.BackwardSequences(got[0], got[1], got[2], q, k, v, dout, s)
		b = must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 3, KeyHeads: 1}, exactOf[T](o)))
		want[0], want[1], want[2] = b.BackwardSequences(want[0], want[1], want[2], q, k, v, dout, s)
		for i := range got {
			require.Less(t, densetest.Distance(got[i], want[i]), 30*densetest.Roundoff[T]())
		}
	}
}
