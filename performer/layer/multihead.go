package layer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// MultiHead is a multi-head attention layer. From matrices x_q, x_k and x_v, whose rows are tokens,
// a MultiHead computes queries, keys, values and the matrix out of outputs:
//
//	Q = turn(norm(x_q·W_Qᵀ + b_Q)),  K = turn(norm(x_k·W_Kᵀ + b_K)),  V = x_v·W_Vᵀ + b_V,
//	out = [head_0, …, head_H−1]·W_Oᵀ + b_O.
//
// The matrix head_h in a MultiHead has the outputs of head h of the attention, a [performer.Batch],
// with queries Q, keys K and values V. The function turn of a MultiHead rotates queries and keys by
// the rotary positions of [Options]. The function norm of a MultiHead is the root mean square norm
// with the gains of [Projections], or the identity without gains. With [performer.Exact], without
// rotary positions and without gains, a MultiHead computes PyTorch's nn.MultiheadAttention.
//
// Callers may change the weights of a MultiHead through the method Projections while no other
// goroutine uses the MultiHead. Goroutines may share a MultiHead with constant weights if
// goroutines may share the attention of the MultiHead.
type MultiHead[T dense.Float] struct {
	query, key, value, output Linear[T] // output has no weight without W_O
	queryNorm, keyNorm        RMSNorm[T]
	rotary                    *rotary[T] // nil for none
	queriesAt, keysAt         []int      // positions of WithPositions, or nil
	attention                 performer.Batch[T]
	calls                     *pool.Of[memory[T]]
}

// Options are the options of [New], [Read] and [ReadNamed] that files of weights do not hold. The
// zero Options stands for a layer without rotary positions.
type Options struct {
	// Rotary are the options of the rotary positions of queries and keys. A nil Rotary means no
	// rotary positions. Counted from 0, key j of a sequence has the position j, query i the
	// position Past + i with the number Past of [performer.Sequences], and token i of a
	// [performer.State] the position i. [MultiHead.WithPositions] sets the position of every token.
	Rotary *RotaryOptions

	// Epsilon is ε in the root mean square norms x_j ↦ g_j·x_j/√(Σ_l x_l²/n + ε) of queries and
	// keys with n gains g_j. A zero Epsilon means 1e-6, as in Qwen3, Gemma 3 and OLMo 2.
	Epsilon float64

	// Weights is the type of the elements of the weight matrices of the layer: F16, BF16, or the
	// type of T, which gradients need. For [New], an empty Weights stands for the type of T. For
	// [Read] and [ReadNamed], an empty Weights stands for the type of the weight matrices in the
	// file if all are F16 or all are BF16, and otherwise for the type of T.
	Weights safetensors.DType
}

// Projections are the matrices, biases and gains of a [MultiHead] of H heads of queries and Hk
// heads of keys and values. A row of a matrix of Projections belongs to an output of a linear map,
// a column to an input, as in PyTorch.
type Projections[T dense.Float] struct {
	Query dense.Matrix[T] // W_Q, (H·d)×E
	Key   dense.Matrix[T] // W_K, (Hk·d)×E_k
	Value dense.Matrix[T] // W_V, (Hk·dv)×E_v

	// Output is the matrix W_O (E_out×H·dv) that maps the outputs of H heads of dimension dv to
	// outputs of dimension E_out; a zero Output omits the projection.
	Output dense.Matrix[T]

	// QueryBias, KeyBias, ValueBias and OutputBias have an element for each row of their matrices.
	// QueryBias, KeyBias and ValueBias are all given or all nil. OutputBias may be nil.
	QueryBias, KeyBias, ValueBias []T
	OutputBias                    []T

	// QueryNorm and KeyNorm are the gains g of root mean square norms x_j ↦ g_j·x_j/√(Σ_l x_l²/n +
	// ε) of queries and keys, or nil for no norm. With as many gains as a head has coordinates,
	// each head of a token is normalised separately, as in Qwen3. With as many gains as all heads
	// together have coordinates, all heads of a token are normalised together, as in OLMo 2.
	QueryNorm, KeyNorm []T
}

// New returns a MultiHead with copies of the projections p and the given attention. The MultiHead
// of New has the numbers of heads of the argument attention.
//
// New returns an error if the argument attention is zero or for heads of another dimension than
// those of p, if the shapes of p do not fit together, if Options.Epsilon is negative or not finite,
// or if Options.Weights is no type of weights or makes a weight infinite.
//
// New also returns an error for a RotaryOptions with an odd, negative or too large Dim, a Base that
// is neither 0 nor finite and above 1, Axes that are not Dim/2 numbers from 0 to 15, or an invalid
// Scaling.
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
	epsilon := cmp.Or(opts.Epsilon, 1e-6)
	if !(epsilon > 0) || math.IsInf(epsilon, 0) {
		return nil, fmt.Errorf("layer: Options.Epsilon = %v, want a finite number above 0", epsilon)
	}
	if err := cmp.Or(checkWeights[T]("Options.Weights", opts.Weights),
		checkRange("Query", p.Query, opts.Weights), checkRange("Key", p.Key, opts.Weights),
		checkRange("Value", p.Value, opts.Weights), checkRange("Output", p.Output, opts.Weights)); err != nil {
		return nil, err
	}
	l := &MultiHead[T]{
		query:     newLinear(p.Query, p.QueryBias, opts.Weights),
		key:       newLinear(p.Key, p.KeyBias, opts.Weights),
		value:     newLinear(p.Value, p.ValueBias, opts.Weights),
		output:    newLinear(p.Output, p.OutputBias, opts.Weights),
		queryNorm: RMSNorm[T]{slices.Clone(p.QueryNorm), epsilon},
		keyNorm:   RMSNorm[T]{slices.Clone(p.KeyNorm), epsilon},
		attention: attention,
		calls:     new(pool.Of[memory[T]]),
	}
	if opts.Rotary != nil {
		if l.rotary, err = newRotary[T](p.Query.Rows/heads, *opts.Rotary); err != nil {
			return nil, err
		}
	}
	return l, nil
}

var errNoLayer = errors.New("layer: the MultiHead is zero, want one of New")

func (l *MultiHead[T]) isZero() bool { return l.calls == nil }

func headsOf[T dense.Float](attention performer.Batch[T]) (heads, keyHeads, dim int, err error) {
	d := attention.Describe()
	if d.Heads == 0 {
		return 0, 0, 0, errors.New("layer: attention is zero, want one of a constructor")
	}
	return d.Heads, d.KeyHeads, d.Dim, nil
}

// WithAttention returns a layer with the given attention that shares weights and memory with the
// receiver. WithAttention returns an error if the argument attention is zero, or has heads of
// another number or dimension than the receiver.
func (l *MultiHead[T]) WithAttention(attention performer.Batch[T]) (*MultiHead[T], error) {
	if l.isZero() {
		return nil, errNoLayer
	}
	heads, keyHeads, dim, err := headsOf(attention)
	if err != nil {
		return nil, err
	}
	if h, g, _, _ := headsOf(l.attention); h != heads || g != keyHeads || dim != 0 && dim != l.query.out/h {
		return nil, fmt.Errorf("layer: attention has %d heads over %d of dimension %d (0 means any), want %d over %d of dimension %d",
			heads, keyHeads, dim, h, g, l.query.out/h)
	}
	with := *l
	with.attention = attention
	return &with, nil
}

// dims returns the dimensions of the rows that become queries, keys and values, and the dimension
// of the output. dims panics for a zero MultiHead, as do all methods that compute attention.
func (l *MultiHead[T]) dims() (query, key, value, out int) {
	if l.isZero() {
		panic(errNoLayer.Error())
	}
	out = l.output.out
	if l.output.none() {
		heads, keyHeads, _, _ := headsOf(l.attention)
		out = l.value.out / keyHeads * heads
	}
	return l.query.in, l.key.in, l.value.in, out
}

// Projections returns views of the weights of the layer. Changes of the views that Projections
// returns change the layer, which is safe while no other goroutine uses the layer. Of weight
// matrices of 16-bit numbers, Projections returns copies with elements of type T instead of views.
func (l *MultiHead[T]) Projections() Projections[T] {
	return Projections[T]{
		Query: l.query.matrix(), Key: l.key.matrix(), Value: l.value.matrix(), Output: l.output.matrix(),
		QueryBias: l.query.bias, KeyBias: l.key.bias, ValueBias: l.value.bias, OutputBias: l.output.bias,
		QueryNorm: l.queryNorm.Gain, KeyNorm: l.keyNorm.Gain,
	}
}

// Forward computes self-attention of the rows of x, as [MultiHead.ForwardCross] does with q = k = v
// = x, into the matrix dst, and returns dst; a zero dst is allocated. For Forward, s.Keys of the
// sequences s must be nil or equal to s.Queries.
func (l *MultiHead[T]) Forward(dst, x dense.Matrix[T], s performer.Sequences) dense.Matrix[T] {
	return l.ForwardCross(dst, x, x, x, s)
}

// ForwardCross projects the rows of q (Lq×E) to queries, of k (Lk×E_k) to keys and of v (Lk×E_v) to
// values, and computes attention within each of the sequences s. ForwardCross writes the output of
// the layer to the matrix dst, a row for each row of q, and returns dst; a zero dst is allocated.
// Rows of the arguments k and v that the sequences s exclude may hold any numbers, even NaN.
//
// ForwardCross takes the time of the attention and of a product with each weight matrix of the
// layer. ForwardCross needs memory for queries, keys, values, outputs of heads, and the sines and
// cosines of rotary positions, which a call computes again if positions differ from those of the
// last call. ForwardCross allocates nothing if dst is given and an earlier call had inputs of equal
// size.
//
// The matrix dst of ForwardCross may be exactly q, k or v, or share no memory with the three.
// ForwardCross panics if the shapes of matrices do not fit the layer, and where
// [performer.Batch.ForwardSequences] panics.
func (l *MultiHead[T]) ForwardCross(dst, q, k, v dense.Matrix[T], s performer.Sequences) dense.Matrix[T] {
	l.check(q, k, v)
	_, _, _, out := l.dims()
	dst = dense.Ensure(dst, q.Rows, out)
	c := l.calls.Get()
	queries, keys, values := l.project(c, q, k, v, s, false)
	if l.output.none() {
		l.attention.ForwardSequences(dst, queries, keys, values, s)
	} else {
		c.heads.Shape(q.Rows, l.output.in)
		l.output.apply(dst, l.attention.ForwardSequences(c.heads.Rows(q.Rows), queries, keys, values, s))
	}
	l.calls.Put(c)
	return dst
}

// Project returns, in new matrices, the queries, keys and values that ForwardCross passes to the
// attention of the layer, after norms and rotary positions. Package audit can measure
// approximations of attention on the queries, keys and values of Project. Project panics if the
// shapes of q, k and v do not fit the layer.
func (l *MultiHead[T]) Project(q, k, v dense.Matrix[T], s performer.Sequences) (queries, keys, values dense.Matrix[T]) {
	l.check(q, k, v)
	c := l.calls.Get()
	queries, keys, values = l.project(c, q, k, v, s, false)
	queries, keys, values = queries.Clone(), keys.Clone(), values.Clone()
	l.calls.Put(c)
	return queries, keys, values
}

// project returns Q, K and V in c. With keep it keeps Q and K before norms for backwardHeads.
func (l *MultiHead[T]) project(c *memory[T], q, k, v dense.Matrix[T], s performer.Sequences, keep bool) (queries, keys, values dense.Matrix[T]) {
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

// NewState returns an empty [performer.State] of the heads of the layer, for [MultiHead.Step].
// Between calls of Step, a State of NewState allows calls of Snapshot, Rollback, Merge and
// MarshalBinary. After Merge of States of NewState, a token keeps the rotary position that Step
// gave the token; [MultiHead.WithPositions] can set other positions. NewState returns an error for
// a zero layer, and where [performer.Batch.NewState] returns one.
func (l *MultiHead[T]) NewState() (*performer.State[T], error) {
	if l.isZero() {
		return nil, errNoLayer
	}
	heads, keyHeads, _, _ := headsOf(l.attention)
	s, err := l.attention.NewState(l.query.out/heads, l.value.out/keyHeads)
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return s, nil
}

// Step appends tokens, the rows of x, to the State s one after another, computes self-attention of
// each token over the token and all earlier tokens of s, writes the outputs to the rows of dst and
// returns dst; a zero dst is allocated. The State s comes from NewState of the layer or of a layer
// with as many heads of equal dimensions. Step gives the outputs of Forward with causal attention,
// to rounding; [performer.State.Step] states the cost.
//
// Apart from keys and values that exact attention stores, Step allocates nothing if dst is given
// and an earlier call had as many tokens. The matrix dst of Step may be exactly x, or share no
// memory with x. Step panics if the shapes of x, dst and s do not fit the layer.
func (l *MultiHead[T]) Step(dst, x dense.Matrix[T], s *performer.State[T]) dense.Matrix[T] {
	l.check(x, x, x)
	c := l.calls.Get()
	if c.starts = append(c.starts[:0], 0); s != nil {
		c.starts[0] = s.Len()
	}
	return l.step(c, dst, x, performer.Sequences{}, func(dst, q, k, v dense.Matrix[T]) { s.Step(dst, q, k, v) })
}

// StepAll appends tokens to several streams: row i of the matrix x is a token of states[i]. The
// rows of x that belong to one State must be adjacent and in the order of tokens. StepAll computes
// self-attention of each token over the token and all earlier tokens of the State, writes the
// outputs to dst and returns dst; a zero dst is allocated. StepAll gives, bit for bit, the outputs
// of a call of [MultiHead.Step] for each State, but reads the weights once for all streams.
//
// StepAll allocates memory, allows dst to be x and panics as [MultiHead.Step] does, and also panics
// where [performer.StepAll] panics.
func (l *MultiHead[T]) StepAll(dst, x dense.Matrix[T], states []*performer.State[T]) dense.Matrix[T] {
	l.check(x, x, x)
	c := l.calls.Get()
	c.starts, c.lengths = c.starts[:0], c.lengths[:0]
	for i, s := range states {
		switch {
		case i > 0 && s == states[i-1]:
			c.lengths[len(c.lengths)-1]++
		case s == nil:
			panic(fmt.Sprintf("layer: states[%d] is nil", i))
		default:
			c.starts, c.lengths = append(c.starts, s.Len()), append(c.lengths, 1)
		}
	}
	return l.step(c, dst, x, performer.Sequences{Queries: c.lengths}, func(dst, q, k, v dense.Matrix[T]) { performer.StepAll(dst, q, k, v, states) })
}

func (l *MultiHead[T]) step(c *memory[T], dst, x dense.Matrix[T], s performer.Sequences, attend func(dst, q, k, v dense.Matrix[T])) dense.Matrix[T] {
	_, _, _, out := l.dims()
	dst = dense.Ensure(dst, x.Rows, out)
	q, k, v := l.project(c, x, x, x, s, false)
	c.starts = c.starts[:0]
	if l.output.none() {
		attend(dst, q, k, v)
	} else {
		c.heads.Shape(x.Rows, l.output.in)
		heads := c.heads.Rows(x.Rows)
		attend(heads, q, k, v)
		l.output.apply(dst, heads)
	}
	l.calls.Put(c)
	return dst
}

func (l *MultiHead[T]) check(q, k, v dense.Matrix[T]) {
	q.Check()
	k.Check()
	v.Check()
	dq, dk, dv, _ := l.dims()
	if q.Cols != dq || k.Cols != dk || v.Cols != dv || k.Rows != v.Rows {
		panic(fmt.Sprintf("layer: q is %d×%d, k is %d×%d, v is %d×%d, want Lq×%d, Lk×%d and Lk×%d",
			q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols, dq, dk, dv))
	}
}

type memory[T dense.Float] struct {
	q, k                         normedRows[T]
	v, heads, dq, dk, dv, dheads scratch.Buffer[T]

	starts        []int     // tokens of each State before a Step
	lengths       []int     // rows of each State
	positions     []int     // the result of positionsOf
	queries, keys angles[T] // of this call

	rows []int             // rows whose gradient is not zero
	x, y scratch.Buffer[T] // copies of these rows
}

type normedRows[T dense.Float] struct {
	rows scratch.Buffer[T]
	normCall[T]
	angleCache[T]
}
