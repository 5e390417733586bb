package performer

import (
	"errors"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

func (l *landmarks[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	if err := l.CanBackward(); err != nil {
		panic(err.Error())
	}
	l.check(q, k, v)
	g := newGradients(dq, dk, dv, q, k, v, dout)
	if !g.Empty() {
		l.backward(&g)
	}
	return g.DQ, g.DK, g.DV
}

func (l *landmarks[T]) CanBackward() error {
	if l.exact.Causal {
		return errors.New("performer: causal Landmarks have no derivatives")
	}
	return nil
}

func (l *landmarks[T]) backwardSequence(s sequence.Backward[T]) {
	x := sequence.Select(s, false)
	if x.Gather(s) {
		l.backward(&x.Gradients)
	}
	x.Scatter(s)
}

// backward writes the gradients, which are not empty.
func (l *landmarks[T]) backward(g *sums.Gradients[T]) {
	if l.isExact(g.K.Rows) {
		l.exact.backward(*g, l.exact.mask(0, nil))
		return
	}
	if l.inDouble(g.K.Cols) {
		l.backwardDouble(g)
		return
	}
	engine, chosen := l.engineFor(g.K)
	engine.Backward(g)
	l.release(chosen)
}
