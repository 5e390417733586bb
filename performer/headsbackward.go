package performer

import (
	"fmt"
	"runtime"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

// Backward writes the gradients of each head into its columns of dq, dk and dv, for
// those of its outputs in dout, and returns them; a zero one is allocated. They have the
// bits that Backward of the form gives for the head alone, and heads are shared among
// processors as in Forward. dq, dk and dv must not overlap each other nor an input. It
// panics if shapes do not fit, and with the text of CanBackward if that is an error.
func (h *Heads[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	if err := h.CanBackward(); err != nil {
		panic(err.Error())
	}
	checkShapes(q, k, v, false)
	if q.Cols%h.heads != 0 || v.Cols%h.heads != 0 {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, v is %d×%d, want columns that %d heads can share",
			q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols, h.heads))
	}
	g := newGradients(dq, dk, dv, q, k, v, dout)
	c := pool.Get[headGradient[T]](&headGradients)
	c.gradients, c.of.h = g, h
	processors := runtime.GOMAXPROCS(0)
	together := h.heads / processors * processors
	parallel.Do(together, c)
	for i := together; i < h.heads; i++ {
		c.head(i, processors)
	}
	*c = headGradient[T]{}
	pool.Put(&headGradients, c)
	return g.dq, g.dk, g.dv
}

// CanBackward returns nil if the form is Differentiable and can be differentiated, and
// an error that says why not otherwise.
func (h *Heads[T]) CanBackward() error { return canBackward(h.form) }

// headGradient is the task of one call of Backward: a head is a piece.
type headGradient[T dense.Float] struct {
	gradients[T]
	of headwise[T]
}

func (c *headGradient[T]) Piece(i int) { c.head(i, 1) }

// head computes the gradients of head i with work for so many processors.
func (c *headGradient[T]) head(i, processors int) {
	dq, dk, dv := c.of.of(c.dq, i), c.of.of(c.dk, i), c.of.of(c.dv, i)
	q, k, v, dout := c.of.of(c.q, i), c.of.of(c.k, i), c.of.of(c.v, i), c.of.of(c.dout, i)
	if a, ok := c.of.h.form.(*Attention[T]); ok {
		a.backward(dq, dk, dv, q, k, v, dout, processors)
	} else {
		c.of.h.form.(Differentiable[T]).Backward(dq, dk, dv, q, k, v, dout)
	}
}

// Scratch memory of all calls of Backward of Heads, by type.
var headGradients pool.Both[headGradient[float32], headGradient[float64]]
