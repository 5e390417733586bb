package performer_test

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
)

// A sink is a key with the value zero: attention over the keys and one more key, whose score is the
// logarithm of SinkWeight, has the same outputs, gradients and weights.
func TestSinkWeightIsAKey(t *testing.T) {
	const n, d, dv, weight = 300, 5, 3, 20.0
	var none dense.Matrix[float64]
	rng := rand.New(rand.NewPCG(1, 2))
	normal := func(rows, cols int) dense.Matrix[float64] { return densetest.Normal[float64](rng, rows, cols, 0, 1) }
	q, k, v, dout := normal(70, d), normal(n, d), normal(n, dv), normal(70, dv)
	longer := func(x dense.Matrix[float64], column, row float64) dense.Matrix[float64] {
		y := densetest.Filled[float64](x.Rows, x.Cols+1, column)
		dense.Copy(y.ColRange(0, x.Cols), x)
		if row == 0 {
			return y
		}
		last := dense.New[float64](1, y.Cols)
		last.Data[x.Cols] = row
		return dense.Of(y.Rows+1, y.Cols, append(y.Data, last.Data...))
	}
	// The products of the sink with all queries are log weight, those of other keys do not change.
	sinkQ, sinkK := longer(q, 1, 0), longer(k, 0, math.Log(weight))
	sinkV := dense.Of(n+1, dv, append(v.Clone().Data, 0, 0, 0))
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Scale: 1}, SinkWeight: weight}))
	with := must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Scale: 1}}))
	requirePlaced(t, with.Forward(none, sinkQ, sinkK, sinkV), exact.Forward(none, q, k, v), 1e-13, "outputs")
	requirePlaced(t, weightsOf(with, sinkQ, sinkK).ColRange(0, n), weightsOf(exact, q, k), 1e-13, "weights")
	wantQ, wantK, wantV := with.Backward(none, none, none, sinkQ, sinkK, sinkV, dout)
	gotQ, gotK, gotV := exact.Backward(none, none, none, q, k, v, dout)
	requirePlaced(t, wantQ.ColRange(0, d), gotQ, 1e-13, "dq")
	requirePlaced(t, wantK.RowRange(0, n).ColRange(0, d), gotK, 1e-13, "dk")
	requirePlaced(t, wantV.RowRange(0, n), gotV, 1e-13, "dv")

	g, err := performer.AttendBackward(exact, performer.AttendArgs[float64]{
		Q: dense.TensorOf(1, 1, 70, d, q.Data), K: dense.TensorOf(1, 1, n, d, k.Data), V: dense.TensorOf(1, 1, n, dv, v.Data),
	}, dense.TensorOf(1, 1, 70, dv, dout.Data))
	require.NoError(t, err)
	assert.InDelta(t, wantK.At(n, d), g.LogSink[0], 1e-13, "the gradient of the score of the sink")
}

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
