package layer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer"
)

// MultiHead is a multi-head attention layer. Rows x_q, x_k and x_v give
//
//	Q = turn(norm(x_q·W_Qᵀ + b_Q)),  K = turn(norm(x_k·W_Kᵀ + b_K)),  V = x_v·W_Vᵀ + b_V,
//	out = [head_0, …, head_H−1]·W_Oᵀ + b_O,
//
// where head_h is attention of head h of Q over its heads of K and V, in any form, by a
// [performer.Batch]. turn is the rotary positions of [Options], and norm the root mean square norm
// with the gains of [Projections], if there are any. Without them and with [performer.Exact] a
// MultiHead is PyTorch's nn.MultiheadAttention.
//
// A MultiHead owns its weights. They change only when a caller writes them, through
// Projections, which is safe as long as no other goroutine uses the layer. Otherwise a MultiHead may
// be shared by goroutines if its forms may.
type MultiHead[T dense.Float] struct {
	query, key, value, output linear[T] // output has no weight if there is no W_O
	queryNorm, keyNorm        norm[T]
	rotary                    *Rotary[T] // nil for none
	queriesAt, keysAt         []int      // positions of At, or nil
	attention                 performer.Batch[T]
	calls                     *pool.Of[memory[T]]
}

// Options are the options of [New], [Read] and [ReadNamed]: what weights do not tell. The zero value
// has no rotary positions.
type Options struct {
	// Rotary turns queries and keys by rotary positions, those of [NewRotary] for heads of the
	// layer. Key j of a sequence is at position j, query i at position i + Past, for every sequence
	// of [performer.Sequences]; token i of a State is at position i. [MultiHead.At] gives other
	// positions. Nil means none.
	Rotary *RotaryOptions

	// Epsilon is ε in the norms of queries and keys. Zero means 1e-6, that of Qwen3, Gemma 3 and
	// OLMo 2.
	Epsilon float64
}

// Projections are the weights of a [MultiHead] of H heads of queries and Hk of keys and
// values. A row of a matrix belongs to an output, a column to an input, as in PyTorch.
type Projections[T dense.Float] struct {
	Query dense.Matrix[T] // W_Q, (H·d)×E
	Key   dense.Matrix[T] // W_K, (Hk·d)×E_k
	Value dense.Matrix[T] // W_V, (Hk·dv)×E_v

	// Output is W_O, E_out×(H·dv). The zero Matrix stands for none: the output is the heads.
	Output dense.Matrix[T]

	// Biases have an element for each row of their matrix. The first three are all there or all
	// nil.
	QueryBias, KeyBias, ValueBias []T
	OutputBias                    []T // or nil

	// QueryNorm and KeyNorm are gains g of norms of queries and keys, each nil for none. The norm
	//
	//	x_j ↦ g_j·x_j/√(Σ_l x_l²/n + ε)
	//
	// is that of each head if there are n = d gains, as in Qwen3, and that of all heads together if
	// there is one for each row of Query or Key, as in OLMo 2.
	QueryNorm, KeyNorm []T
}

// New returns the layer with copies of the projections, for attention over as many heads as its
// Batch has.
//
// It returns an error if attention is nil or takes heads of another dimension, if shapes do
// not fit together, if Epsilon is not positive and finite, and in the cases of [NewRotary]. The
// error names the field.
func New[T dense.Float](p Projections[T], attention performer.Batch[T], opts Options) (*MultiHead[T], error) {
	heads, keyHeads, dim, err := headsOf(attention)
	if err != nil {
		return nil, err
	}
	if err := fitHeads(p, heads, keyHeads); err != nil {
		return nil, err
	}
	if d := p.Query.Rows / heads; dim != 0 && d != dim {
		return nil, fmt.Errorf("layer: Query is %d×%d: heads have dimension %d, but attention takes points of R^%d", p.Query.Rows, p.Query.Cols, d, dim)
	}
	epsilon := opts.Epsilon
	if epsilon == 0 {
		epsilon = 1e-6
	}
	if !(epsilon > 0) || math.IsInf(epsilon, 0) {
		return nil, fmt.Errorf("layer: Options.Epsilon = %v, want a finite number above 0", epsilon)
	}
	l := &MultiHead[T]{
		query:     newLinear(p.Query, p.QueryBias),
		key:       newLinear(p.Key, p.KeyBias),
		value:     newLinear(p.Value, p.ValueBias),
		output:    newLinear(p.Output, p.OutputBias),
		queryNorm: norm[T]{slices.Clone(p.QueryNorm), epsilon},
		keyNorm:   norm[T]{slices.Clone(p.KeyNorm), epsilon},
		attention: attention,
		calls:     new(pool.Of[memory[T]]),
	}
	if opts.Rotary != nil {
		if l.rotary, err = NewRotary[T](p.Query.Rows/heads, *opts.Rotary); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// errNoLayer is the error of a MultiHead that no constructor has made.
var errNoLayer = errors.New("layer: the MultiHead is zero, want one of New")

// headsOf returns the dimensions of attention, or an error if it has none.
func headsOf[T dense.Float](attention performer.Batch[T]) (heads, keyHeads, dim int, err error) {
	if attention == nil {
		return 0, 0, 0, errors.New("layer: attention is nil")
	}
	heads, keyHeads, dim = attention.Dims()
	return heads, keyHeads, dim, nil
}

// Dims returns the dimensions of the rows from which queries, keys and values are made,
// and that of the output. Dims panics for a zero MultiHead, as all methods do that attend.
func (l *MultiHead[T]) Dims() (query, key, value, out int) {
	if l.attention == nil {
		panic(errNoLayer.Error())
	}
	out = l.output.weight.Rows
	if l.output.none() {
		heads, keyHeads, _ := l.attention.Dims()
		out = l.value.weight.Rows / keyHeads * heads
	}
	return l.query.weight.Cols, l.key.weight.Cols, l.value.weight.Cols, out
}

// Projections returns views of the weights of the layer. The layer uses what is written into them;
// see the type for when writing is safe.
func (l *MultiHead[T]) Projections() Projections[T] {
	return Projections[T]{
		Query: l.query.weight, Key: l.key.weight, Value: l.value.weight, Output: l.output.weight,
		QueryBias: l.query.bias, KeyBias: l.key.bias, ValueBias: l.value.bias, OutputBias: l.output.bias,
		QueryNorm: l.queryNorm.gain, KeyNorm: l.keyNorm.gain,
	}
}

// Forward is self-attention: [MultiHead.ForwardCross] of x (L×E) as q, k and v into dst (L×E_out),
// which Forward returns; a zero dst is allocated. s.Keys is nil or the same as s.Queries.
func (l *MultiHead[T]) Forward(dst, x dense.Matrix[T], s performer.Sequences) dense.Matrix[T] {
	return l.ForwardCross(dst, x, x, x, s)
}

// ForwardCross makes queries of the rows of q (Lq×E), keys of k (Lk×E_k) and values of v (Lk×E_v),
// in the sequences s, and writes the output of the layer into dst (Lq×E_out), which ForwardCross
// returns; a zero dst is allocated. Rows of k and v that do not count may hold anything.
//
// Beyond the time and memory of attention, ForwardCross takes the time of the products with the
// weights and holds Q, K, V, the heads and the turns of their positions, which are computed anew
// where positions differ from those of the last call. It allocates nothing once that memory is
// there. dst may be exactly one of q, k and v, or disjoint from all of them. ForwardCross panics
// with the shapes if they do not fit, and in the cases of [performer.Batch.ForwardSequences].
func (l *MultiHead[T]) ForwardCross(dst, q, k, v dense.Matrix[T], s performer.Sequences) dense.Matrix[T] {
	l.check(q, k, v)
	_, _, _, out := l.Dims()
	dst = dense.Ensure(dst, q.Rows, out)
	c := l.calls.Get()
	queries, keys, values := projectPoints(l, c, q, k, v, s, false)
	if l.output.none() {
		l.attention.ForwardSequences(dst, queries, keys, values, s)
	} else {
		c.heads.Shape(q.Rows, l.output.weight.Cols)
		l.output.apply(dst, l.attention.ForwardSequences(c.heads.Rows(q.Rows), queries, keys, values, s))
	}
	l.calls.Put(c)
	return dst
}

// projectPoints returns what attention takes. It keeps what backwardHeads needs if keep is true.
func projectPoints[T dense.Float](l *MultiHead[T], c *memory[T], q, k, v dense.Matrix[T], s performer.Sequences, keep bool) (queries, keys, values dense.Matrix[T]) {
	queries, keys, values = l.query.applyTo(&c.q.rows, q), l.key.applyTo(&c.k.rows, k), l.value.applyTo(&c.v, v)
	l.queryNorm.apply(&c.q.normCall, queries, keep)
	l.keyNorm.apply(&c.k.normCall, keys, keep)
	if l.rotary != nil {
		c.queries, c.keys = l.angles(c, q.Rows, k.Rows, s)
		c.queries.Turn(queries)
		c.keys.Turn(keys)
	}
	return queries, keys, values
}

// check panics unless the rows are of the dimensions of the layer and keys are as many
// as values.
func (l *MultiHead[T]) check(q, k, v dense.Matrix[T]) {
	q.Check()
	k.Check()
	v.Check()
	dq, dk, dv, _ := l.Dims()
	if q.Cols != dq || k.Cols != dk || v.Cols != dv || k.Rows != v.Rows {
		panic(fmt.Sprintf("layer: q is %d×%d, k is %d×%d, v is %d×%d, want Lq×%d, Lk×%d and Lk×%d",
			q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols, dq, dk, dv))
	}
}

// memory is the memory of one call: Q, K, V, the heads, and gradients.
type memory[T dense.Float] struct {
	q, k                         points[T]
	v, heads, dq, dk, dv, dheads scratch.Buffer[T]

	before        int       // tokens before those of this call, in Step
	positions     []int     // in list
	queries, keys Angles[T] // of this call

	rows []int             // with a gradient
	x, y scratch.Buffer[T] // copies of such rows
}

// points is the memory of queries, or of keys.
type points[T dense.Float] struct {
	rows scratch.Buffer[T]
	normCall[T]
	placed[T]
}

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
func (l *linear[T]) applyTo(b *scratch.Buffer[T], x dense.Matrix[T]) dense.Matrix[T] {
	b.Shape(x.Rows, l.weight.Rows)
	return l.apply(b.Rows(x.Rows), x)
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
