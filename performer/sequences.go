package performer

import (
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
)

// Sequences says which rows of q, k and v belong to which sequence, and which keys count. The zero
// value is one sequence of all rows whose keys all count. [Attend] takes masks of pairs of a query
// and a key.
type Sequences struct {
	// Queries holds the number of queries of each sequence, whose rows follow one another in q.
	// Keys holds the number of keys of each sequence in k and v. Numbers may be zero. Keys may be
	// nil if each sequence has the same number of keys and queries. Both are nil for one sequence
	// of all rows.
	Queries, Keys []int

	// Past holds, for each sequence, the number of its keys before the first query, for causal
	// attention: query i sees the keys j ≤ i + Past. Nil means zero for all sequences. If Past is
	// negative, the first queries see no key. Bidirectional attention ignores Past unless it is an
	// [Exact] with a Window, a Chunk or a Slope.
	Past []int

	// Valid says for each row of k and v whether it counts. The contents of rows that do not count
	// change no output, even if they are NaN. Nil means that all rows count. The places of an Exact,
	// and so its Sinks and its Chunk, begin at the first row that counts.
	Valid []bool
}

// fits returns an error unless the lengths fit the numbers of queries and keys.
func (s Sequences) fits(queries, keys int) error {
	if s.Queries == nil && s.Keys != nil {
		return fmt.Errorf("performer: Sequences.Queries is nil, Keys has length %d, want both", len(s.Keys))
	}
	n := 1
	if s.Queries != nil {
		n = len(s.Queries)
		if err := layout.CheckLengths(s.Queries, queries); err != nil {
			return fmt.Errorf("performer: Sequences.Queries %w", err)
		}
		name, lengths := "Queries, which are the lengths of the keys too,", s.Queries
		if s.Keys != nil {
			name, lengths = "Keys", s.Keys
		}
		if err := layout.CheckLengths(lengths, keys); err != nil {
			return fmt.Errorf("performer: Sequences.%s %w", name, err)
		}
	}
	if s.Keys != nil && len(s.Keys) != n {
		return fmt.Errorf("performer: Sequences.Keys has length %d, want one for each of %d sequences", len(s.Keys), n)
	}
	if s.Past != nil && len(s.Past) != n {
		return fmt.Errorf("performer: Sequences.Past has length %d, want one for each of %d sequences", len(s.Past), n)
	}
	if s.Valid != nil && len(s.Valid) != keys {
		return fmt.Errorf("performer: Sequences.Valid has length %d, want one for each of %d keys", len(s.Valid), keys)
	}
	return nil
}

// lengthsOfKeys returns the numbers of keys of the sequences, or nil for one sequence.
func (s Sequences) lengthsOfKeys() []int {
	if s.Keys == nil {
		return s.Queries
	}
	return s.Keys
}

// keysIn returns Valid for the keys from ≤ j < to, or nil if all of these keys count.
func (s Sequences) keysIn(from, to int) []bool {
	if s.Valid == nil || !slices.Contains(s.Valid[from:to], false) {
		return nil
	}
	return s.Valid[from:to]
}

// pastOf returns the Past of sequence i, limited to ±farthest.
func (s Sequences) pastOf(i int) int {
	if s.Past == nil {
		return 0
	}
	return min(max(s.Past[i], -farthest), farthest)
}

// farthest is the largest Window, and the largest size of a Past: sums of a few of these fit an
// int.
const farthest = math.MaxInt / 8

// maskedAttention is attention of this package, which can leave out keys and have a past.
type maskedAttention[T dense.Float] interface {
	Attention[T]

	// forwardSequence computes the outputs of a sequence whose shapes fit. The output of a query
	// that sees no key is zero. s has more than one head only if the attention shares keys, or if it
	// is exact and has few queries.
	forwardSequence(s sequence.Forward[T])

	// sharesKeys reports whether heads of queries over the same keys cost less together.
	sharesKeys() bool
}

// maskedDifferentiable is a maskedAttention with gradients.
type maskedDifferentiable[T dense.Float] interface {
	Differentiable[T]

	// backwardSequence writes the gradients of a sequence whose shapes fit. Gradients of keys that
	// do not count are zero. If the gradient of an output is zero, the gradient of its query is
	// zero, and the query adds nothing to other gradients even if it is NaN. s has more than one
	// head only if the attention shares keys.
	backwardSequence(s sequence.Backward[T])
}

// takesMask reports whether an attention can leave out keys and have a past.
func takesMask[T dense.Float](attention Attention[T]) bool {
	switch attention.(type) {
	case maskedAttention[T], PrefixAttention[T]:
		return true
	}
	return false
}

// forwardSequence computes the outputs of a sequence by any attention.
func forwardSequence[T dense.Float](attention Attention[T], s sequence.Forward[T]) {
	switch a := attention.(type) {
	case maskedAttention[T]:
		a.forwardSequence(s)
	case PrefixAttention[T]:
		forwardPrefixes(a, s)
	default:
		attention.Forward(s.Dst, s.Q, s.K, s.V)
	}
}

// forwardPrefixes computes the outputs of a sequence. The queries of all heads with one place follow
// each other, so that one call computes them.
func forwardPrefixes[T dense.Float](attention PrefixAttention[T], s sequence.Forward[T]) {
	causal := attention.Describe().Causal
	if causal {
		if s = s.TrimCausal(); s.Q.Rows == 0 {
			return
		}
	}
	k, v, copies := layout.ValidOnly(s.K, s.V, s.Valid)
	m := pool.Get[prefixScratch[T]](&prefixScratches)
	q, dst := s.Q, s.Dst
	if s.Heads > 1 {
		q, dst = interleaved(&m.q, s.Q, s.Heads), interleaved(&m.out, s.Dst, s.Heads)
	}
	if !causal || s.Valid == nil && s.Past == 0 && q.Rows == k.Rows {
		attention.Forward(dst, q, k, v)
	} else {
		m.prefixes, m.each = scratch.Resize(m.prefixes, s.Q.Rows), scratch.Resize(m.each, q.Rows)
		s.Prefixes(m.prefixes)
		for i := range m.each {
			m.each[i] = m.prefixes[i/s.Heads]
		}
		attention.ForwardPrefixes(dst, q, k, v, m.each)
	}
	if s.Heads > 1 {
		separate(s.Dst, dst, s.Heads)
	}
	pool.Put(&prefixScratches, m)
	copies.Release()
}

// prefixScratch is the scratch memory of forwardPrefixes, of gradients over prefixes, and of heads
// that exact attention computes together.
type prefixScratch[T dense.Float] struct {
	prefixes, each []int
	q, out         scratch.Buffer[T]
}

var prefixScratches pool.Pair[prefixScratch[float32], prefixScratch[float64]]

// interleaved returns the rows of heads side by side as rows one below another in memory, those of a
// row of x together.
func interleaved[T dense.Float](memory *scratch.Buffer[T], x dense.Matrix[T], heads int) dense.Matrix[T] {
	memory.Shape(x.Rows*heads, x.Cols/heads)
	y := memory.Rows(x.Rows * heads)
	for i := range y.Rows {
		copy(y.Row(i), layout.Head(x, i%heads, heads).Row(i/heads))
	}
	return y
}

// separate copies the rows y of interleaved back to x.
func separate[T dense.Float](x, y dense.Matrix[T], heads int) {
	for i := range y.Rows {
		copy(layout.Head(x, i%heads, heads).Row(i/heads), y.Row(i))
	}
}

// takesMaskBackward reports whether Backward of an attention can leave out keys and have a past.
func takesMaskBackward[T dense.Float](attention Attention[T]) bool {
	switch a := attention.(type) {
	case maskedAttention[T], PrefixDifferentiable[T]:
		return true
	case PrefixAttention[T]:
		return !a.Describe().Causal
	}
	return false
}

// backwardSequence writes the gradients of a sequence by an attention that is Differentiable.
func backwardSequence[T dense.Float](attention Attention[T], s sequence.Backward[T]) {
	if a, ok := attention.(maskedDifferentiable[T]); ok {
		a.backwardSequence(s)
		return
	}
	a := attention.(Differentiable[T])
	if !takesMaskBackward(attention) {
		a.Backward(s.DQ, s.DK, s.DV, s.Q, s.K, s.V, s.DOut)
		return
	}
	x := sequence.SelectByPlace(s)
	if x.Gather(s) {
		if p, ok := a.(PrefixDifferentiable[T]); ok && p.Describe().Causal {
			m := pool.Get[prefixScratch[T]](&prefixScratches)
			m.prefixes, m.each = scratch.Resize(m.prefixes, s.Q.Rows), scratch.Resize(m.each, len(x.Queries))
			s.Prefixes(m.prefixes)
			for at, i := range x.Queries {
				m.each[at] = m.prefixes[i%s.Q.Rows]
			}
			p.BackwardPrefixes(x.DQ, x.DK, x.DV, x.Q, x.K, x.V, x.DOut, m.each)
			pool.Put(&prefixScratches, m)
		} else {
			a.Backward(x.DQ, x.DK, x.DV, x.Q, x.K, x.V, x.DOut)
		}
	}
	x.Scatter(s)
}
