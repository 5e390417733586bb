package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// Reader multiplies queries by sums.
type Reader[T dense.Float] struct {
	sums     *Accumulator[T]
	packed   matmul.Packed[T]
	direct   bool // features are not logarithms
	positive positive[T]
}

// Prepare sets the sums of a to mixed. Without a Mixer mixed must be s. With a Mixer Prepare sets
// mixed to C·S for the sums S of s, plus the keys with weights of their own and their values, which
// are rows of v.
func (a *Reader[T]) Prepare(e *Engine[T], mixed, s *Accumulator[T], v dense.Matrix[T]) {
	if e.Mixer != nil {
		a.positive.prepare(e, s, v)
		e.Mixer.Mix(mixed, s, v)
		a.positive.measure(mixed)
	}
	a.sums = mixed
	matmul.Pack(&a.packed, mixed.Sums())
}

// Release returns the memory of Prepare.
func (a *Reader[T]) Release(e *Engine[T]) {
	a.positive.drop(e)
	a.sums = nil
}

// Read returns the products of at most Rows queries with the sums, in memory of w, relative to
// w.Scales.
func (a *Reader[T]) Read(e *Engine[T], w *Workspace[T], q dense.Matrix[T]) dense.Matrix[T] {
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
	a.positive.replace(e, q, features, sums, w.Scales)
	return sums
}
