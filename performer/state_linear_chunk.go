package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// appendChunk is append for several tokens, which are taken in as bidirectional
// attention does: no query comes between them.
func (s *linearMemory[T]) appendChunk(k, v dense.Matrix[T]) {
	s.settle()
	s.call.k, s.call.v = k, v
	parallel.Do(len(s.heads), (*appending[T])(s))
	s.call.k, s.call.v = dense.Matrix[T]{}, dense.Matrix[T]{}
}

// attendChunk is attend for several queries, which are answered as bidirectional
// attention does.
func (s *linearMemory[T]) attendChunk(dst, q dense.Matrix[T]) {
	s.settle()
	s.call.dst, s.call.q = dst, q
	parallel.Do(len(s.heads), (*attending[T])(s))
	s.call.dst, s.call.q = dense.Matrix[T]{}, dense.Matrix[T]{}
}

// appending is the task of appending a chunk, a head a piece.
type appending[T dense.Float] linearMemory[T]

func (t *appending[T]) Piece(h int) {
	s := (*linearMemory[T])(t)
	a, acc, k, v := s.a, s.heads[h], layout.Head(s.call.k, h, len(s.heads)), layout.Head(s.call.v, h, len(s.heads))
	segments := segmentsOf(k.Rows)
	if segments == 1 {
		w := a.workspace(s.dv)
		for lo := 0; lo < k.Rows; lo += a.rows {
			hi := min(lo+a.rows, k.Rows)
			keys := w.features.Rows(hi - lo)
			a.mapKeys(keys, k.RowRange(lo, hi))
			acc.add(keys, v.RowRange(lo, hi), nil, w.scratch)
		}
		a.workspaces.Put(w)
		return
	}
	b := a.bidirectionals.Get()
	b.a, b.k, b.v, b.segments = a, k, v, segments
	b.sum()
	acc.mergeFeatures(b.segmentSums[0], 0, a.m)
	b.drop()
	*b = bidirectional[T]{total: b.total}
	a.bidirectionals.Put(b)
}

// attending is the task of answering a chunk of queries, a head of keys a piece.
type attending[T dense.Float] linearMemory[T]

func (t *attending[T]) Piece(h int) {
	s := (*linearMemory[T])(t)
	a, acc := s.a, s.heads[h]
	b := a.bidirectionals.Get()
	b.a, b.heads = a, s.group()
	b.dst, b.q = layout.Head(s.call.dst, h, len(s.heads)), layout.Head(s.call.q, h, len(s.heads))
	b.v.Cols = s.dv
	b.segmentSums[0] = acc
	matmul.Pack(&b.total, acc.sums())
	parallel.Do(b.heads*b.blocks(), (*answering[T])(b))
	*b = bidirectional[T]{total: b.total}
	a.bidirectionals.Put(b)
}
