package performer_test

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// differentiable is attention with gradients.
type differentiable[T dense.Float] interface {
	performer.Attention[T]
	Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T])
	CanBackward() error
}

// streaming is attention with a State.
type streaming[T dense.Float] interface {
	performer.Attention[T]
	NewState(d, dv int) (*performer.State[T], error)
}

// weightsOf returns the weights of exact attention.
func weightsOf[T dense.Float](e performer.Exact[T], q, k dense.Matrix[T]) dense.Matrix[T] {
	r := must.Have(performer.Attend(e, performer.AttendArgs[T]{
		Q: dense.SplitHeads(q, 1, 1), K: dense.SplitHeads(k, 1, 1), V: dense.NewTensor[T](1, 1, k.Rows, 1), Scores: performer.ScoresAfterSoftmax,
	}))
	return dense.Head(r.Scores, 0, 0)
}

// variancesOf returns for each query the expected squared error ‖out_i − exact_i‖² that comes from
// the rounding of Bits, to first order.
func variancesOf[T dense.Float](e performer.Exact[T], q, k, v dense.Matrix[T]) dense.Matrix[float64] {
	o, squares := e.Options(), dense.New[float64](q.Rows, 1)
	scale := o.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(q.Cols))
	}
	a := tiles.Attention[T]{
		Q: q, K: k, V: v, Scores: tiles.Scores{Scale: scale, Softcap: o.Softcap, Unnormalised: o.Unnormalised, Sink: o.SinkWeight},
		Mask: tiles.Mask[T]{Causal: o.Causal, Window: o.Window, Sinks: o.Sinks, Chunk: o.Chunk, Slope: o.Slope},
	}
	if o.Bits != 0 && o.Bits <= 8 && coded.Takes(a) {
		coded.Variances(squares.Data, a)
	}
	return squares
}
