package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
)

// PrefixAttention is attention of another package whose queries may see a prefix of the keys.
// [Batch] and [Attend] need it for sequences with a past, and to leave out keys that do not count.
// Attention of package clusters is PrefixAttention; attention of this package need not be.
// Bidirectional attention, as its Description says, gets the keys that count alone, so its outputs
// must not depend on the index of a key.
type PrefixAttention[T dense.Float] interface {
	Attention[T]
	Described

	// ForwardPrefixes is Forward over prefixes of the keys: query i sees the first prefixes[i]
	// keys. The numbers ascend from at least 0 to at most the number of keys. The output of a query
	// that sees no key is zero. Batch and Attend call ForwardPrefixes for causal attention only.
	//
	// If query i sees i+1 keys, its output has the bits of Forward over equal numbers of queries
	// and keys. The prefixes of later queries do not change these bits.
	ForwardPrefixes(dst, q, k, v dense.Matrix[T], prefixes []int) dense.Matrix[T]
}

// maskedAttention is attention of this package, which can leave out keys and have a past.
type maskedAttention[T dense.Float] interface {
	Attention[T]

	// forwardSequence computes the outputs of a sequence whose shapes fit. The output of a query
	// that sees no key is zero.
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

// forwardPrefixes computes the outputs of a sequence with one head.
func forwardPrefixes[T dense.Float](attention PrefixAttention[T], s sequence.Forward[T]) {
	causal := attention.Describe().Causal
	if causal {
		if s = s.TrimCausal(); s.Q.Rows == 0 {
			return
		}
	}
	k, v, copies := layout.ValidOnly(s.K, s.V, s.Valid)
	if !causal || s.Valid == nil && s.Past == 0 && s.Q.Rows == k.Rows {
		attention.Forward(s.Dst, s.Q, k, v)
	} else {
		m := prefixMemory.Get()
		m.prefixes = scratch.Resize(m.prefixes, s.Q.Rows)
		s.Prefixes(m.prefixes)
		attention.ForwardPrefixes(s.Dst, s.Q, k, v, m.prefixes)
		prefixMemory.Put(m)
	}
	copies.Release()
}

var prefixMemory pool.Of[struct{ prefixes []int }]

// takesMaskBackward reports whether Backward of an attention can leave out keys and have a past.
func takesMaskBackward[T dense.Float](attention Attention[T]) bool {
	if _, ok := attention.(maskedAttention[T]); ok {
		return true
	}
	a, ok := attention.(PrefixAttention[T])
	return ok && !a.Describe().Causal
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
	x := sequence.Select(s, false)
	if x.Gather(s) {
		a.Backward(x.DQ, x.DK, x.DV, x.Q, x.K, x.V, x.DOut)
	}
	x.Scatter(s)
}
