package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/local"
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
	checkShapes(q, k, v, l.exact.Causal)
	if l.d != 0 && q.Cols != l.d {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, but the landmarks are points of R^%d", q.Rows, q.Cols, k.Rows, k.Cols, l.d))
	}
}

func (l *landmarks[T]) sharesKeys() bool { return !l.exact.Causal }

func (l *landmarks[T]) forwardSequence(s sequence.Forward[T]) {
	switch {
	case !l.exact.Causal:
		l.forwardAll(s)
	case l.inDouble(s.K.Cols):
		l.forwardDouble(s)
	case l.set == nil:
		l.forwardRenewed(s)
	default:
		l.forwardCausal(s, l.engine)
	}
}

// forwardAll computes the outputs of queries that all see all keys that count.
func (l *landmarks[T]) forwardAll(s sequence.Forward[T]) {
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

// forwardCausal computes causal outputs, with exact weights for the last keys and the weights of an
// undivided engine for earlier keys.
func (l *landmarks[T]) forwardCausal(s sequence.Forward[T], engine *sums.Engine[T]) {
	s = s.TrimCausal()
	if s.Q.Rows == 0 || s.V.Cols == 0 {
		return
	}
	base := local.Base[T]{Engine: engine, Scores: l.exact.scores(s.Q.Cols)}
	for h := range s.Heads {
		head := s.Head(h)
		local.Causal(base, head.Dst, head.Q, head.K, head.V, head.Valid, head.Past)
	}
}

// isExact reports whether attention over n keys is exact.
func (l *landmarks[T]) isExact(n int) bool { return n == 0 || l.set == nil && n <= l.n }

// forwardRenewed is causal attention by landmarks that are chosen anew among earlier keys each time
// the number of tokens has doubled. The first 2·r tokens have exact attention. The tokens b ≤ i <
// 2·b with b = 2·r, 4·r, … have landmarks chosen among the keys before b. The sums over all keys
// are computed again for each b, which costs at most as much as the sums for the last b. The last
// keys before a query have exact weights.
func (l *landmarks[T]) forwardRenewed(s sequence.Forward[T]) {
	s = s.TrimCausal()
	if s.Q.Rows == 0 || s.V.Cols == 0 {
		return
	}
	n := s.Past + s.Q.Rows
	for begin, end := 0, 2*l.n; begin < n; begin, end = end, 2*end {
		if end > s.Past {
			keys := min(end, s.K.Rows)
			block := s.Queries(max(begin-s.Past, 0), min(end, n)-s.Past).KeyRange(0, keys)
			l.forwardChosen(block, min(begin, keys))
		}
	}
}

// forwardChosen computes causal outputs with landmarks chosen among the first n keys, or exact
// outputs if at most r of these keys count.
func (l *landmarks[T]) forwardChosen(s sequence.Forward[T], n int) {
	before := s.KeyRange(0, n)
	past, _, copies := layout.ValidOnly(before.K, before.V, before.Valid)
	defer copies.Release()
	if l.isExact(past.Rows) {
		l.exact.forwardSequence(s)
		return
	}
	engine, chosen := l.engineFor(past)
	chosen.choice.Disown() // causal sums include the features of every key
	l.forwardCausal(s, engine)
	l.release(chosen)
}

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
