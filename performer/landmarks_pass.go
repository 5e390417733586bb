package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

func (l *landmarks[T]) Forward(c sequence.Call[T]) {
	c, copies := c.ValidKeys()
	switch {
	case c.Q.Rows == 0 || c.V.Cols == 0:
	case l.isExact(c.K.Rows):
		l.exact.Forward(c)
	case l.inDouble(c.K.Cols):
		l.forwardDouble(c)
	default:
		engine, chosen := l.engineFor(c.K)
		engine.Forward(c.Out, c.Q, c.K, c.V)
		l.release(chosen)
	}
	copies.Release()
}

// isExact reports whether attention over n keys is exact.
func (l *landmarks[T]) isExact(n int) bool { return n == 0 || l.set == nil && n <= l.n }

func (l *landmarks[T]) CanBackward() error { return nil }

func (l *landmarks[T]) Backward(c sequence.Call[T]) {
	x := sequence.Select(c, false)
	if x.Gather(c) {
		l.backward(&x.Gradients)
	}
	x.Scatter(c)
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
