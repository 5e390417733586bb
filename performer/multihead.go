package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

// MultiHead is a multi-head attention layer: of rows x_q, x_k and x_v,
//
//	Q = x_q·W_Qᵀ + b_Q,  K = x_k·W_Kᵀ + b_K,  V = x_v·W_Vᵀ + b_V,
//	out = [head_0, …, head_H−1]·W_Oᵀ + b_O,
//
// where head_h is attention of block h of the columns of Q over its blocks of K and V,
// in any form, as in a [Batch]. With [Exact] it is PyTorch's nn.MultiheadAttention.
//
// Nothing in it changes by itself after construction, and it may be shared by goroutines
// if its forms may. It owns its weights; they may be written, through Projections and
// Parameters, as long as no other goroutine uses the layer.
type MultiHead[T dense.Float] struct {
	query, key, value, output linear[T] // output has no weight if there is no W_O
	batch                     *Batch[T]
	calls                     pool.Of[multiHeadCall[T]]
	gradients                 pool.Of[multiHeadGradient[T]]
}

// Projections are the weights of a [MultiHead] of H heads of queries and Hk of keys and
// values. A row of a matrix belongs to an output, a column to an input, as in PyTorch.
type Projections[T dense.Float] struct {
	Query dense.Matrix[T] // W_Q, (H·d)×E
	Key   dense.Matrix[T] // W_K, (Hk·d)×E_k
	Value dense.Matrix[T] // W_V, (Hk·dv)×E_v

	// Output is W_O, E_out×(H·dv). The zero Matrix stands for none: heads are the output.
	Output dense.Matrix[T]

	// Biases have an element for each row. The first three are all there or all nil.
	QueryBias, KeyBias, ValueBias []T
	OutputBias                    []T // or nil
}

// NewMultiHead returns the layer with these projections, which are copied, for so many
// heads of queries and of keys and values. One form serves all heads; or there is
// one for each head of the queries.
//
// It returns an error if heads or forms are not as [NewBatch] wants them, if a form is
// for another dimension than that of the heads, or if shapes do not fit together; it
// names the projection by its field.
func NewMultiHead[T dense.Float](p Projections[T], heads, keyHeads int, forms ...Form[T]) (*MultiHead[T], error) {
	batch, err := NewBatch(heads, keyHeads, forms...)
	if err != nil {
		return nil, err
	}
	if err := p.fit(heads, keyHeads); err != nil {
		return nil, err
	}
	if err := batch.takes(p.Query.Rows / heads); err != nil {
		return nil, fmt.Errorf("performer: Query is %d×%d: %w", p.Query.Rows, p.Query.Cols, err)
	}
	return &MultiHead[T]{
		query:  newLinear(p.Query, p.QueryBias),
		key:    newLinear(p.Key, p.KeyBias),
		value:  newLinear(p.Value, p.ValueBias),
		output: newLinear(p.Output, p.OutputBias),
		batch:  batch,
	}, nil
}

// Heads returns the number of heads of queries, and that of keys and values.
func (l *MultiHead[T]) Heads() (heads, keyHeads int) { return l.batch.Heads() }

// Dims returns the dimensions of the rows from which queries, keys and values are made,
// and that of the output.
func (l *MultiHead[T]) Dims() (query, key, value, out int) {
	out = l.output.weight.Rows
	if l.output.none() {
		heads, keyHeads := l.Heads()
		out = l.value.weight.Rows / keyHeads * heads
	}
	return l.query.weight.Cols, l.key.weight.Cols, l.value.weight.Cols, out
}

// Projections returns views of the weights of the layer. What is written into them the
// layer uses from then on; see the type for when that is safe.
func (l *MultiHead[T]) Projections() Projections[T] {
	return Projections[T]{
		Query: l.query.weight, Key: l.key.weight, Value: l.value.weight, Output: l.output.weight,
		QueryBias: l.query.bias, KeyBias: l.key.bias, ValueBias: l.value.bias, OutputBias: l.output.bias,
	}
}

// Forward is self-attention: queries, keys and values are all made from x (L×E), and dst
// (L×E_out), which it returns, is the output; a zero dst is allocated. The sequences
// are those of x, with s.Keys nil or the same as s.Queries. See [MultiHead.ForwardCross].
func (l *MultiHead[T]) Forward(dst, x dense.Matrix[T], s Sequences) dense.Matrix[T] {
	return l.ForwardCross(dst, x, x, x, s)
}

// ForwardCross computes the layer on the rows of q (Lq×E), k (Lk×E_k) and v (Lk×E_v), of
// such sequences, into dst (Lq×E_out), which it returns; a zero dst is allocated.
// Rows of keys and values that do not count may hold anything.
//
// Beyond the time and memory of the attention it takes that of the products with
// the weights and holds Q, K, V and the heads. It allocates nothing once that memory is
// there. dst may be exactly one of q, k and v, or disjoint from all of them. It panics
// with the shapes if they do not fit, and as [Batch.Forward] does.
func (l *MultiHead[T]) ForwardCross(dst, q, k, v dense.Matrix[T], s Sequences) dense.Matrix[T] {
	l.check(q, k, v)
	s.check(q.Rows, k.Rows)
	_, _, _, out := l.Dims()
	dst = dense.Ensure(dst, q.Rows, out)
	c := l.calls.Get()
	queries := l.query.applyTo(&c.q, q)
	keys, values := l.key.applyTo(&c.k, k), l.value.applyTo(&c.v, v)
	if l.output.none() {
		l.batch.Forward(dst, queries, keys, values, s)
	} else {
		c.heads.shape(q.Rows, l.output.weight.Cols)
		l.output.apply(dst, l.batch.Forward(c.heads.rows(q.Rows), queries, keys, values, s))
	}
	l.calls.Put(c)
	return dst
}

// check panics unless the rows are of the dimensions of the layer and keys are as many
// as values.
func (l *MultiHead[T]) check(q, k, v dense.Matrix[T]) {
	q.Check()
	k.Check()
	v.Check()
	dq, dk, dv, _ := l.Dims()
	if q.Cols != dq || k.Cols != dk || v.Cols != dv || k.Rows != v.Rows {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, v is %d×%d, want Lq×%d, Lk×%d and Lk×%d",
			q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols, dq, dk, dv))
	}
}

// multiHeadCall is the memory of one call: Q, K, V and the heads.
type multiHeadCall[T dense.Float] struct{ q, k, v, heads buffer[T] }

// linear is the map x ↦ x·weightᵀ + bias on rows.
type linear[T dense.Float] struct {
	weight dense.Matrix[T]
	bias   []T // nil for none
}

// newLinear returns the map with copies of weight and bias.
func newLinear[T dense.Float](weight dense.Matrix[T], bias []T) linear[T] {
	l := linear[T]{weight: weight.Clone()}
	if bias != nil {
		l.bias = append([]T{}, bias...)
	}
	return l
}

// none reports whether there is no weight.
func (l *linear[T]) none() bool { return l.weight.Rows == 0 }

// applyTo computes the map of the rows of x in memory of b.
func (l *linear[T]) applyTo(b *buffer[T], x dense.Matrix[T]) dense.Matrix[T] {
	b.shape(x.Rows, l.weight.Rows)
	return l.apply(b.rows(x.Rows), x)
}

// apply computes the map of the rows of x into y, which it returns. They do not overlap.
func (l *linear[T]) apply(y, x dense.Matrix[T]) dense.Matrix[T] {
	if l.bias == nil {
		matmul.MulT(1, x, l.weight, 0, y)
		return y
	}
	for i := range y.Rows {
		copy(y.Row(i), l.bias)
	}
	matmul.MulT(1, x, l.weight, 1, y)
	return y
}
