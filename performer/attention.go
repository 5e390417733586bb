package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// Attention is attention: exact or linear. Forward maps queries q (Lq×d),
// keys k (Lk×d) and values v (Lk×dv) to outputs (Lq×dv), which it writes into
// dst and returns; a zero dst is allocated. [Linear] and [Exact] are Forms.
type Attention[T dense.Float] interface {
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]
}

// Differentiable is a [Attention] that also takes gradients with respect to its outputs
// back to gradients with respect to queries, keys and values: what training through
// attention needs. [Linear], [Exact], [Landmarks] and
// [Batch] are Differentiable, and so is attention of package clusters.
type Differentiable[T dense.Float] interface {
	Attention[T]

	// Backward writes the gradients of L = Σ_ic dout_ic·out_ic, where out is what
	// Forward makes of q (Lq×d), k (Lk×d) and v (Lk×dv), with respect to q, k and v
	// into dq, dk and dv, and returns them; a zero one is allocated. So where dout
	// (Lq×dv) is the gradient of any loss with respect to out, they are those of the
	// loss.
	//
	// The outputs are not asked for. dq, dk and dv must not overlap each other nor
	// an input. Backward panics if a shape does not fit, and if CanBackward is an
	// error.
	Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T])

	// CanBackward returns nil if the form can be differentiated, and an error that
	// says why not otherwise. It is always the same.
	CanBackward() error
}

// Streaming is a [Attention] that also attends over streams of tokens. [Linear], [Exact], [Landmarks],
// [Batch] and attention of package clusters are Streaming.
type Streaming[T dense.Float] interface {
	Attention[T]

	// NewState returns an empty [State] for queries and keys of dimension d and values of dimension
	// dv. The error says why the form has none.
	NewState(d, dv int) (*State[T], error)
}

// Description says what a form of attention computes.
type Description struct {
	Causal       bool // query i sees the keys j ≤ i only
	Unnormalised bool // outputs are sums of values, not averages
	Rowwise      bool // an output depends neither on other queries nor on how many there are
	Dim          int  // of queries and keys; 0 for any
}

// Described is a [Attention] that says what it computes. All forms of this package do, but a [Batch],
// whose heads have forms of their own. [NewBatch] and package audit hold a form of another package to
// its Description, if it has one.
type Described interface {
	// Describe returns the same Description at every call. It panics if no constructor has made the
	// form.
	Describe() Description
}

// description returns the Description of a form, which is zero if there is none.
func description[T dense.Float](form Attention[T]) Description {
	if d, ok := form.(Described); ok {
		return d.Describe()
	}
	return Description{}
}

// canBackward returns why a form cannot be differentiated, or nil.
func canBackward[T dense.Float](form Attention[T]) error {
	if f, ok := form.(Differentiable[T]); ok {
		return f.CanBackward()
	}
	return fmt.Errorf("performer: %T has no derivatives, want a Differentiable", form)
}

// newGradients checks the shapes, but for those that checkShapes does, and allocates
// what is to be allocated.
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
