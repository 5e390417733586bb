package layer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer"
)

// Backward writes the gradient of Σ_ic dout_ic·out_ic with respect to x to dx and returns dx, for
// the output out of Forward for x; a zero dx is allocated. The matrix dx may be exactly x or dout
// if the shapes are equal. Backward fills the gradients dw, panics, and takes time and memory as
// [MultiHead.BackwardCross] does for q = k = v = x.
func (l *MultiHead[T]) Backward(dx dense.Matrix[T], dw *Projections[T], x, dout dense.Matrix[T], s performer.Sequences) dense.Matrix[T] {
	c := l.backwardHeads(dw, x, x, x, dout, s)
	dx = dense.Ensure(dx, x.Rows, x.Cols)
	matmul.Mul(1, c.dq.Rows(x.Rows), l.query.matrix(), 0, dx)
	matmul.Mul(1, c.dk.Rows(x.Rows), l.key.matrix(), 1, dx)
	matmul.Mul(1, c.dv.Rows(x.Rows), l.value.matrix(), 1, dx)
	l.calls.Put(c)
	return dx
}

// BackwardCross writes the gradients of the sum Σ_ic dout_ic·out_ic with respect to the inputs q, k
// and v to the matrices dq, dk and dv and returns dq, dk and dv, for the output out of ForwardCross
// for q, k and v; a zero dq, dk or dv is allocated. Unless the argument dw is nil, BackwardCross
// writes the gradients with respect to weights, biases and gains of norms to the fields of dw.
//
// BackwardCross allocates matrices and vectors that dw lacks, and sets fields of dw for parameters
// that the layer lacks to zero or nil. After BackwardCross of a layer l with a dw other than nil,
// element i of dw.Parameters() is the gradient with respect to element i of
// l.Projections().Parameters().
//
// For a padding row, which the sequences s exclude and whose row of dout is zero, BackwardCross
// writes a zero gradient. Neither the numbers in padding rows nor the number of padding rows
// changes one bit of the gradients of weights and of rows that are no padding.
//
// BackwardCross takes the time of the gradients of attention, two products with each of the
// matrices W_Q, W_K and W_V of the layer, and one with W_O; the gradients dw take one more product
// with each matrix. BackwardCross needs memory for queries, keys, values, outputs of heads and the
// gradients of all four, for queries and keys before norms, and for copies of the rows with nonzero
// gradients unless the rows are consecutive. BackwardCross allocates nothing if all gradients are
// given and an earlier call had inputs of equal size.
//
// The matrix dq may be exactly q, dk exactly k, dv exactly v, and one of the three exactly dout, if
// the shapes are equal; all further overlaps are wrong. BackwardCross panics if CanBackward returns
// an error, if the shapes of matrices do not fit the layer, and where
// [performer.Batch.BackwardSequences] panics.
func (l *MultiHead[T]) BackwardCross(dq, dk, dv dense.Matrix[T], dw *Projections[T], q, k, v, dout dense.Matrix[T], s performer.Sequences) (_, _, _ dense.Matrix[T]) {
	c := l.backwardHeads(dw, q, k, v, dout, s)
	dq, dk, dv = dense.Ensure(dq, q.Rows, q.Cols), dense.Ensure(dk, k.Rows, k.Cols), dense.Ensure(dv, v.Rows, v.Cols)
	matmul.Mul(1, c.dq.Rows(q.Rows), l.query.matrix(), 0, dq)
	matmul.Mul(1, c.dk.Rows(k.Rows), l.key.matrix(), 0, dk)
	matmul.Mul(1, c.dv.Rows(v.Rows), l.value.matrix(), 0, dv)
	l.calls.Put(c)
	return dq, dk, dv
}

// CanBackward returns nil if Backward can compute gradients, and otherwise an error with the
// reason: the attention of a head has no gradients, weights have 16 bits, or the layer is zero.
func (l *MultiHead[T]) CanBackward() error {
	if l.isZero() {
		return errNoLayer
	}
	if l.query.bits != nil {
		return fmt.Errorf("layer: gradients with weights of type %s, want Options.Weights = %s", l.query.dtype, typeOf[T]())
	}
	return l.attention.CanBackward()
}

// backwardHeads returns memory with the gradients with respect to the rows of Q, K and V, which the
// caller returns to l.calls. It writes the gradients with respect to weights, biases and gains to
// dw.
func (l *MultiHead[T]) backwardHeads(dw *Projections[T], q, k, v, dout dense.Matrix[T], s performer.Sequences) *memory[T] {
	if err := l.CanBackward(); err != nil {
		panic(err.Error())
	}
	l.check(q, k, v)
	dout.Check()
	if _, _, _, out := l.dims(); dout.Rows != q.Rows || dout.Cols != out {
		panic(fmt.Sprintf("layer: dout is %d×%d, q is %d×%d, want %d×%d, a gradient for each output",
			dout.Rows, dout.Cols, q.Rows, q.Cols, q.Rows, out))
	}
	c := l.calls.Get()
	queries, keys, values := l.project(c, q, k, v, s, true)
	dheads := dout
	if !l.output.none() {
		width := l.output.in
		if dw != nil {
			c.heads.Shape(q.Rows, width)
			heads := l.attention.ForwardSequences(c.heads.Rows(q.Rows), queries, keys, values, s)
			c.parameters("OutputBias", &l.output, &dw.Output, &dw.OutputBias, heads, dout)
		}
		c.dheads.Shape(q.Rows, width)
		dheads = c.dheads.Rows(q.Rows)
		matmul.Mul(1, dout, l.output.matrix(), 0, dheads)
	} else if dw != nil {
		dw.Output, dw.OutputBias = dense.Matrix[T]{}, nil
	}
	c.dq.Shape(queries.Rows, queries.Cols)
	c.dk.Shape(keys.Rows, keys.Cols)
	c.dv.Shape(values.Rows, values.Cols)
	dq, dk, dv := c.dq.Rows(q.Rows), c.dk.Rows(k.Rows), c.dv.Rows(v.Rows)
	l.attention.BackwardSequences(dq, dk, dv, queries, keys, values, dheads, s)
	if l.rotary != nil {
		c.queries.turn(dq, -1)
		c.keys.turn(dk, -1)
	}
	var queryNorm, keyNorm *[]T
	if dw != nil {
		queryNorm, keyNorm = &dw.QueryNorm, &dw.KeyNorm
	}
	l.queryNorm.backward(&c.q.normCall, dq, "QueryNorm", queryNorm)
	l.keyNorm.backward(&c.k.normCall, dk, "KeyNorm", keyNorm)
	if dw != nil {
		c.parameters("QueryBias", &l.query, &dw.Query, &dw.QueryBias, q, dq)
		c.parameters("KeyBias", &l.key, &dw.Key, &dw.KeyBias, k, dk)
		c.parameters("ValueBias", &l.value, &dw.Value, &dw.ValueBias, v, dv)
	}
	return c
}

// parameters writes the gradients with respect to weight and bias of y = x·weightᵀ + bias, which
// are dyᵀ·x and Σ_i dy_i. It skips rows whose dy is zero, where x may hold anything. name is the
// name of the bias.
func (c *memory[T]) parameters(name string, l *Linear[T], weight *dense.Matrix[T], bias *[]T, x, dy dense.Matrix[T]) {
	c.rows = c.rows[:0]
	for i := range dy.Rows {
		if !layout.IsZero(dy.Row(i)) {
			c.rows = append(c.rows, i)
		}
	}
	if from, ok := layout.Consecutive(c.rows); ok {
		x, dy = x.RowRange(from, from+len(c.rows)), dy.RowRange(from, from+len(c.rows))
	} else {
		x, dy = layout.Gather(&c.x, x, c.rows), layout.Gather(&c.y, dy, c.rows)
	}
	*weight = dense.Ensure(*weight, l.out, l.in)
	matmul.TMul(1, dy, x, 0, *weight)
	if l.bias == nil {
		*bias = nil
		return
	}
	clearVector(name, bias, len(l.bias))
	for i := range dy.Rows {
		vecmath.AddScaled(*bias, dy.Row(i), 1)
	}
}

func clearVector[T dense.Float](name string, x *[]T, n int) {
	if *x == nil {
		*x = make([]T, n)
	}
	if len(*x) != n {
		panic(fmt.Sprintf("layer: %s has length %d, want %d", name, len(*x), n))
	}
	clear(*x)
}
