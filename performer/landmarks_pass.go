package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

func (l *landmarks[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	l.check(q, k, v)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	l.forwardSequence(sequence.Forward[T]{Dst: dst, Q: q, K: k, V: v, Heads: 1})
	return dst
}

// check panics unless q, k and v fit each other and the landmarks.
func (l *landmarks[T]) check(q, k, v dense.Matrix[T]) {
	checkShapes(q, k, v, false)
	if l.d != 0 && q.Cols != l.d {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, but the landmarks are points of R^%d", q.Rows, q.Cols, k.Rows, k.Cols, l.d))
	}
}

func (l *landmarks[T]) sharesKeys() bool { return true }

func (l *landmarks[T]) forwardSequence(s sequence.Forward[T]) {
	var copies *layout.Tokens[T]
	s.K, s.V, copies = layout.ValidOnly(s.K, s.V, s.Valid)
	s.Valid = nil
	switch {
	case s.Q.Rows == 0 || s.V.Cols == 0:
	case l.isExact(s.K.Rows):
		l.exact.forwardSequence(s)
	case l.inDouble(s.K.Cols):
		l.forwardDouble(s)
	default:
		engine, chosen := l.engineFor(s.K)
		engine.Forward(s.Heads, s.Dst, s.Q, s.K, s.V)
		l.release(chosen)
	}
	copies.Release()
}

// isExact reports whether attention over n keys is exact.
func (l *landmarks[T]) isExact(n int) bool { return n == 0 || l.set == nil && n <= l.n }

func (l *landmarks[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	l.check(q, k, v)
	g := newGradients(dq, dk, dv, q, k, v, dout)
	if !g.Empty() {
		l.backward(&g)
	}
	return g.DQ, g.DK, g.DV
}

func (l *landmarks[T]) CanBackward() error { return nil }

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
		l.exact.backward(*g, l.exact.mask(0, nil), nil)
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

// engineFor returns an engine with the given landmarks, or with landmarks chosen among more than
// l.n keys. The caller passes chosen to release.
func (l *landmarks[T]) engineFor(k dense.Matrix[T]) (engine *sums.Engine[T], chosen *landmarkCall[T]) {
	if l.set != nil {
		return l.engine, nil
	}
	c := l.calls.Get()
	if c.engine == nil {
		c.engine = l.engine.With(&c.choice, &c.choice)
	}
	c.choice.Choose(k, l.n, l.exact.scale(k.Cols), l.means, l.seed)
	return c.engine, c
}

// release returns the memory of chosen landmarks to its pool.
func (l *landmarks[T]) release(chosen *landmarkCall[T]) {
	if chosen != nil {
		l.calls.Put(chosen)
	}
}
