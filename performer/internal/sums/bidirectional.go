package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

const queryRows = 128

// bidirectional computes the outputs of a call of bidirectional attention from sums over all keys.
// A piece is a block of queries of one head.
type bidirectional[T dense.Float] struct {
	e      *Engine[T]
	dv     int
	dst, q dense.Tensor[T] // outputs and queries of all heads
	sums   *Accumulator[T]
	packed matmul.Packed[T] // sums
	direct bool             // features are not logarithms
}

// Forward computes attention over at least one key for the queries q (1, heads, Lq, d) into dst (1,
// heads, Lq, dv).
func (e *Engine[T]) Forward(dst, q dense.Tensor[T], k, v dense.Matrix[T]) {
	s := e.segments(k, v)
	s.direct = e.Direct != nil && !e.Causal
	s.sum()
	if s.direct && !s.sums[0].allInRange() {
		s.direct = false
		s.drop()
		s.sum()
	}
	e.outputs(dst, q, s.sums[0], v.Cols, s.direct)
	s.release()
}

// Outputs computes the outputs of the queries of the given number of heads, which are column blocks
// of q and dst, from sums for values of dimension dv.
func (e *Engine[T]) Outputs(heads int, dst, q dense.Matrix[T], sums *Accumulator[T], dv int) {
	e.outputs(dense.SplitHeads(dst, 1, heads), dense.SplitHeads(q, 1, heads), sums, dv, false)
}

func (e *Engine[T]) outputs(dst, q dense.Tensor[T], sums *Accumulator[T], dv int, direct bool) {
	b := e.memory.bidirectionals.Get()
	b.e, b.dv, b.dst, b.q, b.sums, b.direct = e, dv, dst, q, sums, direct
	matmul.Pack(&b.packed, sums.Sums())
	parallel.Do(q.Heads*b.blocks(), b)
	*b = bidirectional[T]{packed: b.packed}
	e.memory.bidirectionals.Put(b)
}

func (b *bidirectional[T]) blocks() int { return (b.q.Rows + queryRows - 1) / queryRows }

func (b *bidirectional[T]) Piece(i int) {
	e, blocks := b.e, b.blocks()
	head, lo := i/blocks, i%blocks*queryRows
	hi := min(lo+queryRows, b.q.Rows)
	dst, q := dense.Head(b.dst, 0, head), dense.Head(b.q, 0, head)
	w := e.Workspace(b.dv)
	for ; lo < hi; lo += e.Rows() {
		end := min(lo+e.Rows(), hi)
		prefetchAfter(dst, lo, hi, e.Rows())
		prefetchAfter(q, end, q.Rows, e.Rows())
		out := b.read(w, q.RowRange(lo, end))
		e.Finish(dst.RowRange(lo, end), out, w.Scales)
	}
	e.Release(w)
}

func (b *bidirectional[T]) read(w *Workspace[T], q dense.Matrix[T]) dense.Matrix[T] {
	features, sums := w.Features.Rows(q.Rows), w.Sums.Rows(q.Rows)
	if !b.direct {
		b.e.Features.Queries(features, q)
		b.sums.ScaleQueries(features, w.Scales)
		matmul.MulPacked(1, features, &b.packed, 0, sums, nil)
		return sums
	}
	b.e.Direct.DirectQueries(features, q)
	matmul.MulPacked(1, features, &b.packed, 0, sums, nil)
	b.amend(w, q, sums)
	return sums
}

// If features cost less than their logarithms, attention uses features first. If the sum of a
// feature over the keys is out of range, all rows are computed again with logarithms. If a
// denominator is out of range, its row is computed again with logarithms. A sum of at least
// leastSum has lost less than 2^(−100) of itself to underflow. With sums and denominators up to
// greatestSum numerators are in range for float32 values up to 2⁸⁰.
const (
	leastSum    = 0x1p-20
	greatestSum = 0x1p40
)

func inRange[T dense.Float](sum T) bool { return leastSum <= sum && sum <= greatestSum }

func (acc *Accumulator[T]) allInRange() bool {
	sums := acc.Sums()
	for f := range sums.Rows {
		if !inRange(sums.Row(f)[sums.Cols-1]) {
			return false
		}
	}
	return true
}

func (b *bidirectional[T]) amend(w *Workspace[T], queries, out dense.Matrix[T]) {
	for i := range out.Rows {
		if inRange(out.Row(i)[out.Cols-1]) {
			continue
		}
		q := w.Features.Rows(1)
		b.e.Features.Queries(q, queries.RowRange(i, i+1))
		b.sums.Ref.ScaleQueries(q, nil)
		matmul.MulPacked(1, q, &b.packed, 0, out.RowRange(i, i+1), nil)
	}
}
