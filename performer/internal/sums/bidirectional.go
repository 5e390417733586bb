package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// answerRows is the number of queries that are mapped and answered at a time.
const answerRows = 128

// bidirectional is one call of bidirectional attention. It sums the keys in segments, and answers
// the queries block by block. It is the task of answering: a piece is a block of queries of one head.
type bidirectional[T dense.Float] struct {
	e      *Engine[T]
	heads  int // of queries and outputs, side by side, for the same keys
	dv     int
	dst, q dense.Matrix[T]
	asked  Asked[T]
}

// Forward computes attention over all keys, of which there is at least one, for the queries of the
// given number of heads, which are column blocks of q and dst.
func (e *Engine[T]) Forward(heads int, dst, q, k, v dense.Matrix[T]) {
	s := e.segments(k, v)
	s.direct = e.Direct != nil && !e.Causal
	s.sum()
	if s.direct && !s.sums[0].allInRange() {
		s.direct = false
		s.drop()
		s.sum()
	}
	e.answer(heads, dst, q, s.sums[0], v, s.direct)
	s.release()
}

// Answer answers the queries of the given number of heads from sums for values of dimension dv. The
// engine has no Mixer.
func (e *Engine[T]) Answer(heads int, dst, q dense.Matrix[T], sums *Accumulator[T], dv int) {
	e.answer(heads, dst, q, sums, dense.Matrix[T]{Cols: dv}, false)
}

func (e *Engine[T]) answer(heads int, dst, q dense.Matrix[T], sums *Accumulator[T], v dense.Matrix[T], direct bool) {
	b := e.memory.bidirectionals.Get()
	b.e, b.heads, b.dv, b.dst, b.q = e, heads, v.Cols, dst, q
	b.asked.direct = direct
	b.asked.Set(e, sums, sums, v)
	parallel.Do(heads*b.blocks(), b)
	b.asked.Drop(e)
	*b = bidirectional[T]{asked: b.asked}
	e.memory.bidirectionals.Put(b)
}

// blocks returns the number of blocks of the queries of a head.
func (b *bidirectional[T]) blocks() int { return (b.q.Rows + answerRows - 1) / answerRows }

func (b *bidirectional[T]) Piece(i int) {
	e, blocks := b.e, b.blocks()
	head, lo := i/blocks, i%blocks*answerRows
	hi := min(lo+answerRows, b.q.Rows)
	dst, q := layout.Head(b.dst, head, b.heads), layout.Head(b.q, head, b.heads)
	w := e.Workspace(b.dv)
	for ; lo < hi; lo += e.Rows() {
		end := min(lo+e.Rows(), hi)
		prefetchAfter(dst, lo, hi, e.Rows())
		prefetchAfter(q, end, q.Rows, e.Rows())
		out := b.asked.Answer(e, w, q.RowRange(lo, end), nil)
		e.Finish(dst.RowRange(lo, end), out, w.Scales)
	}
	e.Release(w)
}
