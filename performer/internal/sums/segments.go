package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

const (
	segmentRows  = 128  // least number of keys of a segment
	fewSegments  = 8    // largest number of segments shorter than longSegments
	longSegments = 1024 // keys of a segment if there are more segments
	maxSegments  = 64
	mergeGrain   = 1 << 13
)

// segments sums keys in segments. A piece is a segment, and while merging some features, whose sums
// over the segments are added up in order.
type segments[T dense.Float] struct {
	e             *Engine[T]
	k, v          dense.Matrix[T]
	direct        bool // features are not logarithms
	merging       bool
	count, groups int
	sums          [maxSegments]*Accumulator[T]
}

// segments returns segments of the keys before any sum. The caller releases the segments.
func (e *Engine[T]) segments(k, v dense.Matrix[T]) *segments[T] {
	s := e.memory.segments.Get()
	s.e, s.k, s.v, s.count = e, k, v, segmentsOf(k.Rows)
	return s
}

// The number depends on n alone, so that sums do not depend on the number of processors.
func segmentsOf(n int) int {
	return max(1, min(n/segmentRows, max(fewSegments, n/longSegments), maxSegments))
}

func (e *Engine[T]) Append(acc *Accumulator[T], k, v dense.Matrix[T]) {
	if segmentsOf(k.Rows) == 1 {
		e.Add(acc, k, v, 0, k.Rows)
		return
	}
	s := e.segments(k, v)
	s.sum()
	acc.Merge(s.sums[0], 0, e.M)
	s.release()
}

func (s *segments[T]) sum() {
	s.merging = false
	parallel.Do(s.count, s)
	s.merge()
}

func (s *segments[T]) merge() {
	if s.count > 1 {
		s.merging, s.groups = true, mergeGroups(s.count, s.sums[0])
		parallel.Do(s.groups, s)
	}
}

// mergeGroups returns the number of groups of features that processors share to add up count
// accumulators of the size of acc.
func mergeGroups[T dense.Float](count int, acc *Accumulator[T]) int {
	return max(1, min(acc.m/4, acc.m*acc.sum.Rows(1).Stride*count/mergeGrain))
}

func (s *segments[T]) Piece(i int) {
	e := s.e
	if s.merging {
		lo, hi := parallel.Share(e.M, s.groups, i), parallel.Share(e.M, s.groups, i+1)
		for _, more := range s.sums[1:s.count] {
			s.sums[0].Merge(more, lo, hi)
		}
		return
	}
	acc := e.Accumulator(s.v.Cols)
	lo, hi := parallel.Share(s.k.Rows, s.count, i), parallel.Share(s.k.Rows, s.count, i+1)
	if s.direct {
		e.addDirectly(acc, s.k, s.v, lo, hi)
	} else {
		e.Add(acc, s.k, s.v, lo, hi)
	}
	s.sums[i] = acc
}

func (s *segments[T]) drop() {
	for i, acc := range s.sums[:s.count] {
		s.e.Drop(acc)
		s.sums[i] = nil
	}
}

func (s *segments[T]) release() {
	s.drop()
	memory := s.e.memory
	*s = segments[T]{}
	memory.segments.Put(s)
}
