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

// Sinks far above all weights make outputs zero, sinks far below change nothing, and a query whose
// scores are all −Inf has the output zero.
func TestSinkWeightOfAnySize(t *testing.T) {
	densetest.Both(t, sinkWeightOfAnySize[float32], sinkWeightOfAnySize[float64])
}

func sinkWeightOfAnySize[T dense.Float](t *testing.T) {
	var none dense.Matrix[T]
	rng := rand.New(rand.NewPCG(3, 4))
	q, k, v := densetest.Normal[T](rng, 80, 4, 0, 1), densetest.Normal[T](rng, 600, 4, 0, 1), densetest.Normal[T](rng, 600, 3, 0, 1)
	for _, bits := range []int{0, 8} {
		out := func(weight float64, q dense.Matrix[T]) dense.Matrix[T] {
			return must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Scale: 1}, SinkWeight: weight, Bits: bits})).Forward(none, q, k, v)
		}
		requirePlaced(t, dense.New[T](80, 3), out(1e300, q), 1e-30, "a large sink, %d bits", bits)
		requirePlaced(t, out(0, q), out(1e-300, q), 1e-6, "a small sink, %d bits", bits)
		requirePlaced(t, out(0, times(q, 1e4)), out(1, times(q, 1e4)), 1e-6, "large scores, %d bits", bits)
	}
	e := must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Scale: 1}, SinkWeight: 1e-5}))
	for i := range k.Rows {
		k.Row(i)[0] = -1000
	}
	last := q.RowRange(79, 80)
	clear(last.Data)
	last.Row(0)[0] = 1
	assert.Equal(t, make([]T, 3), e.Forward(none, last, k, v).Data, "weights of exp(−1000)")
	last.Row(0)[0] = T(math.Inf(1))
	assert.Equal(t, make([]T, 3), e.Forward(none, last, k, v).Data, "all scores are −Inf")
}

// Heads that differ in their sinks keep their tokens once, and have the outputs of Forward.
func TestSinkWeightOfEachHead(t *testing.T) {
	const n, d, dv, heads, keyHeads = 500, 8, 4, 8, 2
	var none dense.Matrix[float32]
	rng := rand.New(rand.NewPCG(5, 6))
	q, k, v := densetest.Normal[float32](rng, n, heads*d, 0, 1), densetest.Normal[float32](rng, n, keyHeads*d, 0, 1), densetest.Normal[float32](rng, n, keyHeads*dv, 0, 1)
	for _, o := range []performer.ExactOptions{{}, {Window: 60}, {Bits: 8}, {Bits: 4, Window: 60}} {
		o.Causal = true
		var each []performer.Attention[float32]
		for h := range heads {
			o.SinkWeight = math.Exp(float64(h))
			each = append(each, must.Have(performer.NewExact[float32](o)))
		}
		b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, each...))
		s := must.Have(b.NewState(d, dv))
		got := s.Step(none, q.RowRange(0, n-1), k.RowRange(0, n-1), v.RowRange(0, n-1))
		last := s.Step(none, q.RowRange(n-1, n), k.RowRange(n-1, n), v.RowRange(n-1, n))
		got = dense.Of(n, heads*dv, append(got.Data, last.Data...))
		for h, e := range each {
			one := must.Have(e.(performer.Exact[float32]).NewState(d, dv))
			at := h * keyHeads / heads
			want := one.Step(none, q.ColRange(h*d, (h+1)*d), k.ColRange(at*d, (at+1)*d), v.ColRange(at*dv, (at+1)*dv))
			requirePlaced(t, want, got.ColRange(h*dv, (h+1)*dv), 1e-6, "%+v, head %d", o, h)
		}
		if o.Bits == 0 {
			requirePlaced(t, b.Forward(none, q, k, v), got, 1e-5, "%+v", o)
		}
		shared := must.Have(must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, each[0])).NewState(d, dv))
		shared.Append(k, v)
		assert.InDelta(t, len(must.Have(shared.MarshalBinary())), len(must.Have(s.MarshalBinary())), 200, "%+v", o)
	}
}
