package performer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// Heads of few queries over one head of keys, which are computed together, have the bits that each
// head has by itself.
func TestFewQueriesOfGroups(t *testing.T) {
	densetest.Both(t, testFewQueriesOfGroups[float32], testFewQueriesOfGroups[float64])
}

func testFewQueriesOfGroups[T dense.Float](t *testing.T) {
	const heads, keyHeads, d, dv, keys = 12, 2, 9, 5, 600
	rng := rand.New(rand.NewPCG(5, 6))
	k, v := densetest.Normal[T](rng, 2*keys, keyHeads*d, 0, 1), densetest.Normal[T](rng, 2*keys, keyHeads*dv, 0, 1)
	valid := make([]bool, 2*keys)
	for j := range valid {
		valid[j] = j%7 != 3 && j%keys > 4
	}
	for _, o := range []performer.ExactOptions{
		{}, {Softmax: performer.Softmax{Causal: true}}, {Softmax: performer.Softmax{Causal: true}, Window: 270, Sinks: 3}, {Window: 100}, {Softmax: performer.Softmax{Causal: true}, Slope: 0.01}, {Softcap: 2, Bits: 8},
	} {
		e := must.Have(performer.NewExact[T](o))
		batch := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, e))
		for _, n := range []int{1, 2, 5, 6} {
			q := densetest.Normal[T](rng, 2*n, heads*d, 0, 1)
			for _, valid := range [][]bool{nil, valid} {
				s := performer.Sequences{Queries: []int{n, n}, Keys: []int{keys, keys}, Past: []int{keys - n, 300}, Valid: valid}
				got := batch.ForwardSequences(dense.Matrix[T]{}, q, k, v, s)
				tensors := must.Have(performer.Attend[T](batch, performer.AttendArgs[T]{
					Q: dense.SplitHeads(q, 2, heads), K: dense.SplitHeads(k, 2, keyHeads), V: dense.SplitHeads(v, 2, keyHeads), Lengths: []int{keys, 300 + n},
				})).Out
				for h := range heads {
					one := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 1}, e))
					at := h * keyHeads / heads
					want := one.ForwardSequences(dense.Matrix[T]{}, layout.Head(q, h, heads), layout.Head(k, at, keyHeads), layout.Head(v, at, keyHeads), s)
					name := fmt.Sprintf("%+v, %d queries, valid %v, head %d", o, n, valid != nil, h)
					assert.True(t, densetest.Identical(want, layout.Head(got, h, heads)), name)
					if o.Causal && valid == nil {
						assert.True(t, densetest.Identical(want.RowRange(0, n), dense.Head(tensors, 0, h)), name)
						assert.True(t, densetest.Identical(want.RowRange(n, 2*n), dense.Head(tensors, 1, h)), name)
					}
				}
			}
		}
	}
}
