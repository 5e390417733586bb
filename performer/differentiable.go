package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// Differentiable is a [Form] that also takes gradients with respect to its outputs
// back to gradients with respect to queries, keys and values: what training through
// attention needs. [Attention], [Exact], [Landmarks], [Auto] and [Batch] are Differentiable.
type Differentiable[T dense.Float] interface {
	Form[T]

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

var (
	_ Differentiable[float32] = Exact[float32]{}
	_ Differentiable[float64] = Exact[float64]{}
	_ Differentiable[float32] = (*Attention[float32])(nil)
	_ Differentiable[float64] = (*Attention[float64])(nil)
	_ Differentiable[float32] = (*Auto[float32])(nil)
	_ Differentiable[float64] = (*Auto[float64])(nil)
	_ Differentiable[float32] = (*Landmarks[float32])(nil)
	_ Differentiable[float64] = (*Landmarks[float64])(nil)
	_ Differentiable[float32] = (*Batch[float32])(nil)
	_ Differentiable[float64] = (*Batch[float64])(nil)
)

// canBackward returns why a form cannot be differentiated, or nil.
func canBackward[T dense.Float](form Form[T]) error {
	if f, ok := form.(Differentiable[T]); ok {
		return f.CanBackward()
	}
	return fmt.Errorf("performer: %T has no derivatives, want a Differentiable", form)
}

// gradients are what one call of Backward reads and writes.
type gradients[T dense.Float] struct {
	dq, dk, dv, q, k, v, dout dense.Matrix[T]
}

// newGradients checks the shapes, but for those that checkShapes does, and allocates
// what is to be allocated.
func newGradients[T dense.Float](dq, dk, dv, q, k, v, dout dense.Matrix[T]) gradients[T] {
	dout.Check()
	if dout.Rows != q.Rows || dout.Cols != v.Cols {
		panic(fmt.Sprintf("performer: dout is %d×%d, q is %d×%d, v is %d×%d, want %d×%d, a gradient for each output",
			dout.Rows, dout.Cols, q.Rows, q.Cols, v.Rows, v.Cols, q.Rows, v.Cols))
	}
	return gradients[T]{
		dense.Ensure(dq, q.Rows, q.Cols), dense.Ensure(dk, k.Rows, k.Cols), dense.Ensure(dv, v.Rows, v.Cols),
		q, k, v, dout,
	}
}

// empty reports whether no output depends on anything, and writes the gradients,
// which are zero then.
func (g *gradients[T]) empty() bool {
	if g.q.Rows > 0 && g.k.Rows > 0 && g.v.Cols > 0 {
		return false
	}
	zero(g.dq)
	zero(g.dk)
	zero(g.dv)
	return true
}
