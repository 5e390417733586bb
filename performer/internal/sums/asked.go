package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// Asked are sums that are ready for queries.
type Asked[T dense.Float] struct {
	sums     *Accumulator[T]
	packed   matmul.Packed[T]
	direct   bool // the sums are of features, not of their exponentials
	positive positive[T]
}

// Set makes mixed what queries ask: S, which is the same accumulator then, or by a Mixer C·S, with
// the keys with weights of their own and their values, rows of v.
func (a *Asked[T]) Set(e *Engine[T], mixed, s *Accumulator[T], v dense.Matrix[T]) {
	if e.Mixer != nil {
		a.positive.take(e, s, v)
		e.Mixer.Mix(mixed, s, v)
		a.positive.measure(mixed)
	}
	a.sums = mixed
	matmul.Pack(&a.packed, mixed.Sums())
}

// Drop gives back what Set has taken.
func (a *Asked[T]) Drop(e *Engine[T]) {
	a.positive.drop(e)
	a.sums = nil
}

// Answer returns the sums of at most Rows queries, relative to the scales of w, which has them.
// near(i), unless near is nil, is the denominator that query i has from elsewhere, relative to its
// scale.
func (a *Asked[T]) Answer(e *Engine[T], w *Workspace[T], q dense.Matrix[T], near func(i int) T) dense.Matrix[T] {
	features, sums := w.Features.Rows(q.Rows), w.Sums.Rows(q.Rows)
	if a.direct {
		e.Direct.DirectQueries(features, q)
	} else {
		e.Features.Queries(features, q)
		a.sums.ScaleQueries(features, w.Scales)
	}
	matmul.MulPacked(1, features, &a.packed, 0, sums, nil)
	if a.direct {
		a.amend(e, w, q, sums)
	}
	a.positive.mend(e, q, features, sums, w.Scales, near)
	return sums
}
