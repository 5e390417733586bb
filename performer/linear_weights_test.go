package performer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

func TestWeights(t *testing.T) {
	t.Parallel()
	densetest.Both(t, testWeights[float32], testWeights[float64])
}

func testWeights[T dense.Float](t *testing.T) {
	const n, d = 70, 4
	rng := rand.New(densetest.Source(50))
	q, k := rowsOf[T](rng, n, d), rowsOf[T](rng, n, d)
	for _, m := range maps[T](d) {
		p := newPairs(attention(m.Map, performer.LinearOptions{}), q, k)
		for _, opts := range forms {
			a := attention(m.Map, opts)
			got := a.Forward(dense.Matrix[T]{}, q, k, identity[T](n))
			want, tol := p.of(opts).attend(identity[float64](n))
			densetest.RequireClose(t, want, tol, got, "%s %+v", m.name, opts)
			for i := range n {
				sum := 0.0
				for j, w := range got.Row(i) {
					sum += float64(w)
					if opts.Causal && j > i {
						assert.Zero(t, w, "%s: weight (%d, %d) of the future", m.name, i, j)
					}
				}
				if !opts.Unnormalised {
					// Every weight is positive here, and carries a few roundings.
					assert.InDelta(t, 1, sum, 8*n*densetest.Roundoff[T](), "%s %+v: row %d", m.name, opts, i)
				}
			}
		}
	}
}

func TestCausalWeightsOfNaN(t *testing.T) {
	rng := rand.New(densetest.Source(51))
	q, k := rowsOf[float64](rng, 70, 4), rowsOf[float64](rng, 70, 4)
	k.Set(10, 0, math.NaN())
	w := weightsOf(must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})), q, k)
	for i := range 70 {
		assert.Equal(t, i >= 10, hasNaN(w.Row(i)[:i+1]), "row %d", i)
		assert.False(t, hasNaN(w.Row(i)[i+1:]), "the future of row %d", i)
	}
}

// identity returns the n×n identity matrix: with these values outputs are weights.
func identity[T dense.Float](n int) dense.Matrix[T] {
	m := dense.New[T](n, n)
	for i := range n {
		m.Data[i*n+i] = 1
	}
	return m
}
