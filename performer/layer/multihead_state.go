package layer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// NewState returns an empty [performer.State] of the heads of the layer, for Step. Snapshot,
// Rollback, Merge and bytes of the state are those of the layer. Tokens that Merge takes over keep
// the rotary positions with which they were taken in, which [MultiHead.At] chooses. NewState returns
// the errors of [performer.Batch.NewState].
func (l *MultiHead[T]) NewState() (*performer.State[T], error) {
	if l.attention == nil {
		return nil, errNoLayer
	}
	heads, keyHeads, _ := l.attention.Dims()
	s, err := l.attention.NewState(l.query.weight.Rows/heads, l.value.weight.Rows/keyHeads)
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return s, nil
}

// Step is self-attention of n ≥ 0 tokens x (n×E), one after another, over all tokens that s has
// taken in and those of x up to each, into dst (n×E_out), which Step returns; a zero dst is
// allocated. s, of NewState of a layer with these heads, takes the tokens in. Token by token the
// outputs are those of Forward of a causal layer; see [performer.State.Step] for the cost.
//
// Once memory is there, Step allocates nothing except the keys and values that exact attention
// keeps. dst may be exactly x, or disjoint from x. Step panics with the shapes if they do not fit.
func (l *MultiHead[T]) Step(dst, x dense.Matrix[T], s *performer.State[T]) dense.Matrix[T] {
	l.check(x, x, x)
	_, _, _, out := l.Dims()
	dst = dense.Ensure(dst, x.Rows, out)
	c := l.calls.Get()
	if s != nil {
		c.before = s.Len()
	}
	q, k, v := projectPoints(l, c, x, x, x, performer.Sequences{}, false)
	c.before = 0
	if l.output.none() {
		s.Step(dst, q, k, v)
	} else {
		c.heads.Shape(x.Rows, l.output.weight.Cols)
		l.output.apply(dst, s.Step(c.heads.Rows(x.Rows), q, k, v))
	}
	l.calls.Put(c)
	return dst
}
