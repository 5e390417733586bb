// Package sequence has the arguments of attention over one sequence: which keys count, which of
// them a query sees, and the rows on which gradients depend.
package sequence

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Forward holds the arguments of a forward pass over one sequence, for some heads of queries over
// the keys and values of one head. Q and Dst have the columns of all heads of queries, side by
// side.
type Forward[T dense.Float] struct {
	Dst, Q, K, V dense.Matrix[T] // Dst is not used for gradients
	Heads        int
	Valid        []bool         // whether each key counts; nil if all keys count
	Past         int            // a causal query i sees the keys j ≤ i + Past
	Processors   int            // number of processors to use
	Pairs        tiles.Pairs[T] // bias and mask of exact attention, which then has one head
}

// Backward holds the arguments of a backward pass over one sequence. DQ and DOut have the columns
// of all heads. Exact attention sets LogSink, unless it is nil, to the gradient with respect to log
// SinkWeight.
type Backward[T dense.Float] struct {
	Forward[T]
	DQ, DK, DV, DOut dense.Matrix[T]
	LogSink          *float64
}

// gradients returns the matrices of s.
func (s *Backward[T]) gradients() sums.Gradients[T] {
	return sums.Gradients[T]{DQ: s.DQ, DK: s.DK, DV: s.DV, Q: s.Q, K: s.K, V: s.V, DOut: s.DOut}
}

// Head returns the arguments for one of the heads.
func (s Forward[T]) Head(h int) Forward[T] {
	s.Dst, s.Q, s.Heads = layout.Head(s.Dst, h, s.Heads), layout.Head(s.Q, h, s.Heads), 1
	return s
}

// Queries returns the arguments for the queries from ≤ i < to.
func (s Forward[T]) Queries(from, to int) Forward[T] {
	s.Dst, s.Q, s.Past = s.Dst.RowRange(from, to), s.Q.RowRange(from, to), s.Past+from
	return s
}

// KeyRange returns the arguments for the keys from ≤ j < to.
func (s Forward[T]) KeyRange(from, to int) Forward[T] {
	s.K, s.V, s.Past = s.K.RowRange(from, to), s.V.RowRange(from, to), s.Past-from
	s.Valid = s.Valid[min(from, len(s.Valid)):min(to, len(s.Valid))]
	return s
}

// TrimCausal sets the outputs of causal queries that see no key to zero. TrimCausal returns the
// arguments for the other queries, and for the keys from the first to the last key that counts and
// that a query sees. Past of the result is at least 0, and Valid is nil if all keys count.
func (s Forward[T]) TrimCausal() Forward[T] {
	first, end := 0, min(s.K.Rows, max(s.Past+s.Q.Rows, 0))
	if s.Valid != nil {
		first, end = extent(s.Valid[:end])
	}
	unseen := s.Q.Rows // number of queries that see no key
	if first < end {
		unseen = min(max(first-s.Past, 0), s.Q.Rows)
	}
	layout.Zero(s.Dst.RowRange(0, unseen))
	s = s.Queries(unseen, s.Q.Rows).KeyRange(first, end)
	if !slices.Contains(s.Valid, false) {
		s.Valid = nil
	}
	return s
}

// Span returns the keys first ≤ j < end from the first to the last key that counts.
func (s *Forward[T]) Span() (first, end int) {
	if s.Valid == nil {
		return 0, s.K.Rows
	}
	return extent(s.Valid)
}

// Prefixes sets prefixes[i] to the number of keys that count and that causal query i sees.
func (s *Forward[T]) Prefixes(prefixes []int) {
	n, next := 0, 0
	for i := range prefixes {
		for end := min(s.Past+i+1, s.K.Rows); next < end; next++ {
			if s.Valid == nil || s.Valid[next] {
				n++
			}
		}
		prefixes[i] = n
	}
}

// extent returns the first valid index and the index after the last valid index, or 0 and 0.
func extent(valid []bool) (from, to int) {
	if from = slices.Index(valid, true); from < 0 {
		return 0, 0
	}
	for to = len(valid); !valid[to-1]; to-- {
	}
	return from, to
}
