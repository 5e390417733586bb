package layer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer"
)

// Backward is [MultiHead.BackwardCross] of self-attention: it writes the gradient of
// L = Σ_ic dout_ic·out_ic, where Forward makes out (L×E_out) of x (L×E), with respect to x into dx,
// which Backward returns; a zero dx is allocated. dx may be exactly x or dout where shapes allow.
func (l *MultiHead[T]) Backward(dx dense.Matrix[T], dw *Projections[T], x, dout dense.Matrix[T], s performer.Sequences) dense.Matrix[T] {
	c := backwardHeads(l, dw, x, x, x, dout, s)
	dx = dense.Ensure(dx, x.Rows, x.Cols)
	matmul.Mul(1, c.dq.Rows(x.Rows), l.query.weight, 0, dx)
	matmul.Mul(1, c.dk.Rows(x.Rows), l.key.weight, 1, dx)
	matmul.Mul(1, c.dv.Rows(x.Rows), l.value.weight, 1, dx)
	l.calls.Put(c)
	return dx
}

// BackwardCross writes the gradients of L = Σ_ic dout_ic·out_ic, where ForwardCross makes out
// (Lq×E_out) of q (Lq×E), k (Lk×E_k) and v (Lk×E_v). Gradients with respect to q, k and v go into
// dq, dk and dv, which BackwardCross returns; zero ones are allocated. Gradients with respect to
// weights, biases and gains go into dw, unless dw is nil. dw gets the shapes of Projections: missing
// matrices and vectors are allocated, and those that the layer does not have become zero or nil. So
// dw.Parameters has the order of Parameters.
//
// The gradient of a row of padding, whose key does not count and whose row of dout is zero, is
// zero. Neither the content of padding nor its length changes one bit of any other gradient.
//
// Beyond the time and memory of attention, BackwardCross takes the time of the products with the
// weights, twice with dw. It holds Q, K, V, the heads and their gradients, Q and K before norms, and
// copies of the rows whose gradients are not zero if such rows do not follow one another.
// BackwardCross allocates nothing once that memory is there. dq, dk and dv may each be exactly the
// input of its name, and one of them exactly dout, where shapes allow; they must not overlap
// otherwise. BackwardCross panics with the shapes if they do not fit, and in the cases of
// [performer.Batch.BackwardSequences].
func (l *MultiHead[T]) BackwardCross(dq, dk, dv dense.Matrix[T], dw *Projections[T], q, k, v, dout dense.Matrix[T], s performer.Sequences) (_, _, _ dense.Matrix[T]) {
	c := backwardHeads(l, dw, q, k, v, dout, s)
	dq, dk, dv = dense.Ensure(dq, q.Rows, q.Cols), dense.Ensure(dk, k.Rows, k.Cols), dense.Ensure(dv, v.Rows, v.Cols)
	matmul.Mul(1, c.dq.Rows(q.Rows), l.query.weight, 0, dq)
	matmul.Mul(1, c.dk.Rows(k.Rows), l.key.weight, 0, dk)
	matmul.Mul(1, c.dv.Rows(v.Rows), l.value.weight, 0, dv)
	l.calls.Put(c)
	return dq, dk, dv
}

// CanBackward returns nil if all forms are Differentiable and have gradients. Otherwise it returns
// an error that says why the first form without them has none.
func (l *MultiHead[T]) CanBackward() error {
	if l.attention == nil {
		return errNoLayer
	}
	return l.attention.CanBackward()
}

// backwardHeads returns the gradients with respect to Q, K and V, in memory that is the
// caller's to give back, and writes those with respect to weights and biases.
func backwardHeads[T dense.Float](l *MultiHead[T], dw *Projections[T], q, k, v, dout dense.Matrix[T], s performer.Sequences) *memory[T] {
	if err := l.CanBackward(); err != nil {
		panic(err.Error())
	}
	l.check(q, k, v)
	dout.Check()
	if _, _, _, out := l.Dims(); dout.Rows != q.Rows || dout.Cols != out {
		panic(fmt.Sprintf("layer: dout is %d×%d, q is %d×%d, want %d×%d, a gradient for each output",
			dout.Rows, dout.Cols, q.Rows, q.Cols, q.Rows, out))
	}
	c := l.calls.Get()
	queries, keys, values := projectPoints(l, c, q, k, v, s, true)
	dheads := dout
	if !l.output.none() {
		width := l.output.weight.Cols
		if dw != nil {
			c.heads.Shape(q.Rows, width)
			heads := l.attention.ForwardSequences(c.heads.Rows(q.Rows), queries, keys, values, s)
			c.parameters("Output", &l.output, &dw.Output, &dw.OutputBias, heads, dout)
		}
		c.dheads.Shape(q.Rows, width)
		dheads = c.dheads.Rows(q.Rows)
		matmul.Mul(1, dout, l.output.weight, 0, dheads)
	} else if dw != nil {
		dw.Output, dw.OutputBias = dense.Matrix[T]{}, nil
	}
	c.dq.Shape(queries.Rows, queries.Cols)
	c.dk.Shape(keys.Rows, keys.Cols)
	c.dv.Shape(values.Rows, values.Cols)
	dq, dk, dv := c.dq.Rows(q.Rows), c.dk.Rows(k.Rows), c.dv.Rows(v.Rows)
	l.attention.BackwardSequences(dq, dk, dv, queries, keys, values, dheads, s)
	if l.rotary != nil {
		c.queries.TurnBack(dq)
		c.keys.TurnBack(dk)
	}
	var queryNorm, keyNorm *[]T
	if dw != nil {
		queryNorm, keyNorm = &dw.QueryNorm, &dw.KeyNorm
	}
	l.queryNorm.backward(&c.q.normCall, dq, "QueryNorm", queryNorm)
	l.keyNorm.backward(&c.k.normCall, dk, "KeyNorm", keyNorm)
	if dw != nil {
		c.parameters("Query", &l.query, &dw.Query, &dw.QueryBias, q, dq)
		c.parameters("Key", &l.key, &dw.Key, &dw.KeyBias, k, dk)
		c.parameters("Value", &l.value, &dw.Value, &dw.ValueBias, v, dv)
	}
	return c
}

// parameters writes the gradients with respect to weight and bias of y = x·weightᵀ + bias,
// which are dyᵀ·x and Σ_i dy_i. Rows whose dy is zero are left out, so that x may hold
// anything there.
func (c *memory[T]) parameters(name string, l *linear[T], weight *dense.Matrix[T], bias *[]T, x, dy dense.Matrix[T]) {
	c.rows = c.rows[:0]
	for i := range dy.Rows {
		if !layout.IsZero(dy.Row(i)) {
			c.rows = append(c.rows, i)
		}
	}
	if from, ok := layout.Consecutive(c.rows); ok {
		x, dy = x.RowRange(from, from+len(c.rows)), dy.RowRange(from, from+len(c.rows))
	} else {
		x, dy = layout.Gather(&c.x, x, 1, c.rows), layout.Gather(&c.y, dy, 1, c.rows)
	}
	*weight = dense.Ensure(*weight, l.weight.Rows, l.weight.Cols)
	matmul.TMul(1, dy, x, 0, *weight)
	if l.bias == nil {
		*bias = nil
		return
	}
	if *bias == nil {
		*bias = make([]T, len(l.bias))
	}
	if len(*bias) != len(l.bias) {
		panic(fmt.Sprintf("layer: %sBias has length %d, want %d", name, len(*bias), len(l.bias)))
	}
	clear(*bias)
	for i := range dy.Rows {
		vecmath.AddScaled(*bias, dy.Row(i), 1)
	}
}
