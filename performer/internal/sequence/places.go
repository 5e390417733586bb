package sequence

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// ByPlace has the queries of all heads of a call as rows of one matrix: queries of one place follow
// each other. Row i is query i/heads of head i%heads.
type ByPlace[T dense.Float] struct {
	Q, Out dense.Matrix[T]

	c      Call[T]
	places []int
	q, out scratch.Buffer[T]
}

var byPlaces pool.Pair[ByPlace[float32], ByPlace[float64]]

// ByPlace returns the queries of c by place, and room for their outputs. The caller gives the
// result to Release.
func (c Call[T]) ByPlace() *ByPlace[T] {
	x := pool.Get[ByPlace[T]](&byPlaces)
	x.c = c
	if n := c.Q.Heads; n == 1 {
		x.Q, x.Out = c.Query(0), c.Output(0)
	} else {
		x.q.Shape(c.Q.Rows*n, c.Q.Cols)
		x.out.Shape(c.Q.Rows*n, c.Out.Cols)
		x.Q, x.Out = x.q.Rows(c.Q.Rows*n), x.out.Rows(c.Q.Rows*n)
		for i := range x.Q.Rows {
			copy(x.Q.Row(i), c.Q.Row(0, i%n, i/n))
		}
	}
	return x
}

func (x *ByPlace[T]) Places() []int {
	x.places = scratch.Resize(x.places, x.Q.Rows)
	for i := range x.places {
		x.places[i] = x.c.Past + i/x.c.Q.Heads
	}
	return x.places
}

// Release writes the outputs to the call, and returns x to its pool.
func (x *ByPlace[T]) Release() {
	if n := x.c.Q.Heads; n > 1 {
		for i := range x.Out.Rows {
			copy(x.c.Out.Row(0, i%n, i/n), x.Out.Row(i))
		}
	}
	x.c, x.Q, x.Out = Call[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}
	pool.Put(&byPlaces, x)
}
