package performer_test

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
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
