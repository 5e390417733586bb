// Package sequence has the contract of every kind of attention: a call is attention of some heads
// of queries over one head of keys in one sequence. The package also selects the keys that count,
// and the rows on which gradients depend.
package sequence

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/store"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Kind is a kind of attention with its options. Goroutines share a Kind. Heads whose Kinds are
// equal have the same attention.
type Kind[T dense.Float] interface {
	// Describe returns the same Description at every call.
	Describe() Description

	// Forward writes the outputs of a call whose shapes fit: zero if a query sees no key.
	Forward(c Call[T])

	// Backward writes the gradients of a call whose shapes fit. Gradients of keys that do not count
	// are zero. If the gradient of an output is zero, the gradient of its query is zero, and the
	// query adds nothing to other gradients even if it is NaN. CanBackward returns an error that
	// says why there are no gradients.
	Backward(c Call[T])
	CanBackward() error

	// NewStore returns memory for a stream of a run of heads, or an error that says why not. A
	// run has heads that are Alike: one store holds the tokens of heads with both.
	NewStore(run Run[T]) (store.TokenStore[T], error)
	Alike(other Kind[T]) bool
}

type Description struct {
	Causal             bool // query i sees the keys j ≤ i + Past only
	IndependentQueries bool // with LeastQueries or more, output i depends on no query but i
	LeastQueries       int  // a call with fewer queries may be computed with a smaller error
	Dim                int  // dimension of queries and keys; 0 for any

	Masks      bool // calls may have keys that do not count, and a Past
	Pairs      bool // calls may have Pairs and Scores
	Sink       bool // there is a gradient with respect to a sink
	SharesKeys bool // calls may have several heads, which cost less together
	Together   int  // calls with at most so many queries may have several heads
}

// Run is a run of heads of queries of one stream.
type Run[T dense.Float] struct {
	Heads    []Kind[T] // one for all heads, or one for each head
	Count    int       // heads of queries
	KeyHeads int       // heads of keys
	D, DV    int       // dimensions of keys and of values
}

type Head[T dense.Float] struct{ Of Kind[T] }

func (h Head[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	h.Of.Forward(Call[T]{Out: dense.SplitHeads(dst, 1, 1), Q: dense.SplitHeads(q, 1, 1), K: k, V: v, Processors: 1})
	return dst
}

// Call is a pass over a sequence: Heads heads of queries Q over one head of keys and values.
type Call[T dense.Float] struct {
	Out, Q     dense.Tensor[T] // (1, heads, Lq, dv) and (1, heads, Lq, d); no Out in Backward
	K, V       dense.Matrix[T] // Lk×d and Lk×dv
	Valid      []bool          // whether each key counts; nil if all keys count
	Past       int             // a causal query i sees the keys j ≤ i + Past
	Processors int             // number of processors to use
	Pairs      tiles.Pairs[T]  // bias and mask of pairs, for one head

	// Scores is where a forward pass writes the scores or weights of one head that Stage names.
	Scores dense.Matrix[T]
	Stage  Stage

	// LogSums, unless nil, has an element for each query of one head, where a forward pass writes
	// the logarithm of the sum of the weights of a query that sees a key.
	LogSums []T

	// Gradients of a backward pass. DOut is the gradient of Out. LogSink, unless it is nil, is
	// set to the gradient with respect to the logarithm of a sink.
	DQ, DOut dense.Tensor[T]
	DK, DV   dense.Matrix[T]
	LogSink  *float64
}

type Stage int

const (
	NoScores Stage = iota
	AfterMatMul
	AfterSoftcap
	AfterBias
	AfterSoftmax
)

func (c *Call[T]) Query(h int) dense.Matrix[T] { return dense.Head(c.Q, 0, h) }

func (c *Call[T]) Output(h int) dense.Matrix[T] { return dense.Head(c.Out, 0, h) }

func (c *Call[T]) Zero() {
	for h := range c.Out.Heads {
		layout.Zero(c.Output(h))
	}
}

func (c Call[T]) Queries(from, to int) Call[T] {
	c.Q, c.Out, c.Past = rows(c.Q, from, to), rows(c.Out, from, to), c.Past+from
	c.LogSums = c.LogSums[min(from, len(c.LogSums)):min(to, len(c.LogSums))]
	return c
}

func rows[T dense.Float](t dense.Tensor[T], from, to int) dense.Tensor[T] {
	if from < to && t.Cols > 0 {
		t.Data = t.Data[from*t.Stride:]
	}
	t.Rows = to - from
	return t
}

func (c Call[T]) Keys(from, to int) Call[T] {
	c.K, c.V, c.Past = c.K.RowRange(from, to), c.V.RowRange(from, to), c.Past-from
	c.Valid = c.Valid[min(from, len(c.Valid)):min(to, len(c.Valid))]
	return c
}

// ValidKeys returns the call with the keys that count alone. ValidKeys sets Past to 0. The caller
// releases copies.
func (c Call[T]) ValidKeys() (_ Call[T], copies *layout.Tokens[T]) {
	c.K, c.V, copies = layout.ValidOnly(c.K, c.V, c.Valid)
	c.Valid, c.Past = nil, 0
	return c, copies
}

// TrimCausal sets the outputs of causal queries that see no key to zero. TrimCausal returns the
// call for the other queries, and for the keys from the first to the last key that counts and that
// a query sees. Past of the result is at least 0, and Valid is nil if all keys count.
func (c Call[T]) TrimCausal() Call[T] {
	first, end := 0, min(c.K.Rows, max(c.Past+c.Q.Rows, 0))
	if c.Valid != nil {
		first, end = extent(c.Valid[:end])
	}
	blind := c.Q.Rows // number of queries that see no key
	if first < end {
		blind = min(max(first-c.Past, 0), c.Q.Rows)
	}
	if blind > 0 {
		none := c.Queries(0, blind)
		none.Zero()
	}
	c = c.Queries(blind, c.Q.Rows).Keys(first, end)
	if !slices.Contains(c.Valid, false) {
		c.Valid = nil
	}
	return c
}

// Span returns the keys first ≤ j < end from the first to the last key that counts.
func (c *Call[T]) Span() (first, end int) {
	if c.Valid == nil {
		return 0, c.K.Rows
	}
	return extent(c.Valid)
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
