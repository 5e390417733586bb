package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// Attention computes outputs (Lq×dv) from queries q (Lq×d), keys k (Lk×d) and values v (Lk×dv).
// Forward writes the outputs into dst and returns dst; a zero dst is allocated. [Exact], [Linear],
// [Landmarks] and [Batch] are Attention.
type Attention[T dense.Float] interface {
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]
}

// Differentiable is an [Attention] with gradients. [Exact], [Linear], [Landmarks], [Batch] and
// attention of package clusters are Differentiable.
type Differentiable[T dense.Float] interface {
	Attention[T]

	// Backward writes the gradients of L = Σ_ic dout_ic·out_ic with respect to q (Lq×d), k (Lk×d)
	// and v (Lk×dv) into dq, dk and dv, and returns these; a zero matrix is allocated. out is the
	// result of Forward. If dout (Lq×dv) is the gradient of a loss with respect to out, then dq, dk
	// and dv are the gradients of the loss. Backward does not need the outputs of Forward.
	//
	// dq, dk and dv must not overlap each other nor an input. Backward panics if a shape does not
	// fit, and with the text of CanBackward if CanBackward returns an error.
	Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T])

	// CanBackward returns nil if the attention has gradients. Otherwise the error says why not.
	// CanBackward returns the same at every call.
	CanBackward() error
}

// Streaming is an [Attention] that also attends over a stream of tokens. [Exact], [Linear]
// and [Batch] are Streaming.
type Streaming[T dense.Float] interface {
	Attention[T]

	// NewState returns an empty [State] for queries and keys of dimension d and values of dimension
	// dv. The error says why the attention has no State.
	NewState(d, dv int) (*State[T], error)
}

// Description says what an [Attention] computes.
type Description struct {
	Causal             bool // query i sees the keys j ≤ i only
	Unnormalised       bool // outputs are sums of values, not averages
	IndependentQueries bool // output i depends neither on other queries nor on the number of LeastQueries or more
	LeastQueries       int  // a call with fewer queries may be computed with a smaller error
	Dim                int  // dimension of queries and keys; 0 for any
}

// Described is an [Attention] that says what it computes. All attention of this package is
// Described except [Batch], whose heads have a Description each. [NewBatch] and package audit check
// the Description of attention of other packages.
type Described interface {
	// Describe returns the same Description at every call. Describe panics unless a constructor has
	// made the attention.
	Describe() Description
}

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

// PrefixDifferentiable is a [PrefixAttention] with gradients, also of ForwardPrefixes. Batch and
// Attend need it for gradients of causal attention over sequences with a past or with keys that do
// not count.
type PrefixDifferentiable[T dense.Float] interface {
	PrefixAttention[T]
	Differentiable[T]

	// BackwardPrefixes is Backward for ForwardPrefixes. The gradient of a query that sees no key is
	// zero, and so are gradients of keys that no query sees.
	BackwardPrefixes(dq, dk, dv, q, k, v, dout dense.Matrix[T], prefixes []int) (_, _, _ dense.Matrix[T])
}

// description returns the Description of an attention, or a zero Description if it has none.
func description[T dense.Float](attention Attention[T]) Description {
	if d, ok := attention.(Described); ok {
		return d.Describe()
	}
	return Description{}
}

// canBackward returns nil if the attention has gradients, and otherwise an error that says why not.
func canBackward[T dense.Float](attention Attention[T]) error {
	if f, ok := attention.(Differentiable[T]); ok {
		return f.CanBackward()
	}
	return fmt.Errorf("performer: %T has no derivatives, want a Differentiable", attention)
}

// newGradients panics unless dout (Lq×dv) fits q and v. It allocates dq, dk and dv if they are
// zero.
func newGradients[T dense.Float](dq, dk, dv, q, k, v, dout dense.Matrix[T]) sums.Gradients[T] {
	dout.Check()
	if dout.Rows != q.Rows || dout.Cols != v.Cols {
		panic(fmt.Sprintf("performer: dout is %d×%d, q is %d×%d, v is %d×%d, want %d×%d, a gradient for each output",
			dout.Rows, dout.Cols, q.Rows, q.Cols, v.Rows, v.Cols, q.Rows, v.Cols))
	}
	return sums.Gradients[T]{
		DQ: dense.Ensure(dq, q.Rows, q.Cols), DK: dense.Ensure(dk, k.Rows, k.Cols), DV: dense.Ensure(dv, v.Rows, v.Cols),
		Q: q, K: k, V: v, DOut: dout,
	}
}

// checkShapes panics unless q (Lq×d), k (Lk×d) and v (Lk×dv) fit together.
func checkShapes[T dense.Float](q, k, v dense.Matrix[T], causal bool) {
	checkPoints(q, k, causal)
	v.Check()
	if k.Rows != v.Rows {
		panic(fmt.Sprintf("performer: k is %d×%d, v is %d×%d, want as many values as keys", k.Rows, k.Cols, v.Rows, v.Cols))
	}
}

// checkPoints panics unless q (Lq×d) and k (Lk×d) fit together.
func checkPoints[T dense.Float](q, k dense.Matrix[T], causal bool) {
	q.Check()
	k.Check()
	if q.Cols != k.Cols {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, want queries and keys of one dimension", q.Rows, q.Cols, k.Rows, k.Cols))
	}
	if causal && q.Rows != k.Rows {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, want as many queries as keys for causal attention", q.Rows, q.Cols, k.Rows, k.Cols))
	}
}

// clearFuture sets the elements above the diagonal to zero.
func clearFuture[T dense.Float](m dense.Matrix[T]) {
	for i := range m.Rows {
		clear(m.Row(i)[i+1:])
	}
}
