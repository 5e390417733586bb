package layer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/layout"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/scratch"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
	"github.com/seed-feabd252/randfeat/performer"
)

// Backward is that of self-attention: it writes the gradient of L = Σ_ic dout_ic·out_ic,
// where out (L×E_out) is what Forward makes of x (L×E), with respect to x into dx, which it
// returns; a zero dx is allocated. dx may be exactly x or dout where shapes allow. See
// [MultiHead.BackwardCross].
func (l *MultiHead[T]) Backward(dx dense.Matrix[T], dw *Projections[T], x, dout dense.Matrix[T], s performer.Sequences) dense.Matrix[T] {
	c := l.backward(dw, x, x, x, dout, s)
	dx = dense.Ensure(dx, x.Rows, x.Cols)
	matmul.Mul(1, c.dq.Rows(x.Rows), l.query.weight, 0, dx)
	matmul.Mul(1, c.dk.Rows(x.Rows), l.key.weight, 1, dx)
	matmul.Mul(1, c.dv.Rows(x.Rows), l.value.weight, 1, dx)
	l.gradients.Put(c)
	return dx
}

// BackwardCross writes the gradients of L = Σ_ic dout_ic·out_ic, where out (Lq×E_out) is
// what ForwardCross makes of q (Lq×E), k (Lk×E_k) and v (Lk×E_v), with respect to q, k and
// v into dq, dk and dv, which it returns, and those with respect to weights and biases
// into dw; what is zero or nil is allocated. dw may be nil if they are not needed. It has
// the shapes of Projections, and what the layer does not have is zero or nil in it:
// dw.Parameters has the order of Parameters.
//
// A row of padding, whose key does not count and whose row of dout is zero, has the
// gradient zero, and neither what it holds nor how many there are changes one bit of any
// other gradient, as in [performer.Batch.Backward].
//
// Beyond the time and memory of the attention it takes that of the products with the
// weights, twice with dw, and holds Q, K, V, the heads and their gradients, and copies of the
// rows with gradients that are not zero where they do not follow one another. It allocates
// nothing once that memory is there. dq, dk and dv may each be exactly the input of its
// name, and one of them exactly dout, where shapes allow; they must not overlap otherwise.
// It panics with the shapes if they do not fit, and as [performer.Batch.Backward] does.
func (l *MultiHead[T]) BackwardCross(dq, dk, dv dense.Matrix[T], dw *Projections[T], q, k, v, dout dense.Matrix[T], s performer.Sequences) (_, _, _ dense.Matrix[T]) {
	c := l.backward(dw, q, k, v, dout, s)
	dq, dk, dv = dense.Ensure(dq, q.Rows, q.Cols), dense.Ensure(dk, k.Rows, k.Cols), dense.Ensure(dv, v.Rows, v.Cols)
	matmul.Mul(1, c.dq.Rows(q.Rows), l.query.weight, 0, dq)
	matmul.Mul(1, c.dk.Rows(k.Rows), l.key.weight, 0, dk)
	matmul.Mul(1, c.dv.Rows(v.Rows), l.value.weight, 0, dv)
	l.gradients.Put(c)
	return dq, dk, dv
}

// CanBackward returns nil if all forms are Differentiable and can be differentiated, and
// an error that says why the first of the others cannot otherwise.
func (l *MultiHead[T]) CanBackward() error { return l.attention.CanBackward() }

// backward returns the gradients with respect to Q, K and V, in memory that is the
// caller's to give back, and writes those with respect to weights and biases.
func (l *MultiHead[T]) backward(dw *Projections[T], q, k, v, dout dense.Matrix[T], s performer.Sequences) *gradient[T] {
	if err := l.CanBackward(); err != nil {
		panic(err.Error())
	}
	l.check(q, k, v)
	dout.Check()
	if _, _, _, out := l.Dims(); dout.Rows != q.Rows || dout.Cols != out {
		panic(fmt.Sprintf("layer: dout is %d×%d, q is %d×%d, want %d×%d, a gradient for each output",
			dout.Rows, dout.Cols, q.Rows, q.Cols, q.Rows, out))
	}
	c := l.gradients.Get()
	queries, keys, values := l.query.applyTo(&c.q, q), l.key.applyTo(&c.k, k), l.value.applyTo(&c.v, v)
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
	if dw != nil {
		c.parameters("Query", &l.query, &dw.Query, &dw.QueryBias, q, dq)
		c.parameters("Key", &l.key, &dw.Key, &dw.KeyBias, k, dk)
		c.parameters("Value", &l.value, &dw.Value, &dw.ValueBias, v, dv)
	}
	return c
}

// gradient is the memory of one call: Q, K, V, the heads, and gradients.
type gradient[T dense.Float] struct {
	q, k, v, heads, dheads, dq, dk, dv scratch.Buffer[T]

	rows []int // with a gradient
	x, y scratch.Buffer[T]
}

// parameters writes the gradients with respect to weight and bias of y = x·weightᵀ + bias,
// which are dyᵀ·x and Σ_i dy_i. Rows whose dy is zero are left out, so that x may hold
// anything there.
func (c *gradient[T]) parameters(name string, l *linear[T], weight *dense.Matrix[T], bias *[]T, x, dy dense.Matrix[T]) {
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
