package recurrence

import (
	"cmp"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Rule says how a [Recurrence] updates its state S (dk×dv) with a token that has key k, value v,
// decay g and strength β.
type Rule int

const (
	Linear     Rule = iota // S ← S + k·vᵀ
	Gated                  // S ← e^g·S + k·vᵀ
	Delta                  // S ← S + β·k·(v − Sᵀk)ᵀ
	GatedDelta             // S ← e^g·S, then S ← S + β·k·(v − Sᵀk)ᵀ
)

var ruleNames = [...]string{"linear", "gated", "delta", "gated_delta"}

// String returns the name of the rule in ONNX's LinearAttention, such as gated_delta.
func (r Rule) String() string {
	if r < 0 || int(r) >= len(ruleNames) {
		return fmt.Sprintf("Rule(%d)", int(r))
	}
	return ruleNames[r]
}

// decays reports whether the rule has a decay.
func (r Rule) decays() bool { return r == Gated || r == GatedDelta }

// corrects reports whether the rule has a strength β and writes β·k·(v − Sᵀk)ᵀ.
func (r Rule) corrects() bool { return r == Delta || r == GatedDelta }

// Options are the options of [New]. By default a Recurrence has the linear rule S ← S + k·vᵀ and
// multiplies outputs by dk^−½.
type Options struct {
	// Heads is the number H of heads of queries, and KeyHeads the number Hk of heads of keys and
	// values. A zero KeyHeads stands for Heads. Of H heads of queries and Hk heads of keys, head h
	// of queries reads the state of head ⌊h·Hk/H⌋ of keys.
	Heads, KeyHeads int

	// ValueHeads is the number Hv of heads of values, of decays and of strengths β, a multiple of
	// KeyHeads. Zero stands for KeyHeads. More heads of values than of keys need as many heads of
	// queries as of keys: head h of values then has an own state and output, and reads head
	// ⌊h·Hk/Hv⌋ of queries and keys, as in Qwen3-Next with 16 heads of keys and 32 of values.
	ValueHeads int

	Rule Rule

	// Scale multiplies the outputs. Zero means dk^−½.
	Scale float64

	// NormaliseKeys multiplies each key k by (Σ_i k_i² + 10⁻⁶)^−½. The delta rules need keys of
	// norm 1: with ‖k‖ = 1 and 0 ≤ β ≤ 2 a token with the value v = 0 does not increase the norm of
	// the state S, and with β = 1 the value v replaces Sᵀk.
	NormaliseKeys bool
}

// Recurrence is causal attention without denominators, the operator LinearAttention of ONNX with
// all of its update rules. Each token updates the state of the Recurrence, a matrix S (dk×dv) for
// each head of values, by a [Rule]. The query q of a token gives, after the update by the token, the
// output
//
//	out = scale·Sᵀq
//
// The linear rule S ← S + k·vᵀ mixes values whose keys are not orthogonal. A delta rule changes S
// so that Sᵀk moves towards the value v of the key k [Schlag et al. 2021]. A decay multiplies S by
// e^g ≤ 1 and so shrinks the contribution of older tokens [Yang et al. 2025].
//
// A Recurrence does not change after construction, and goroutines may share it.
type Recurrence[T dense.Float] interface {
	// Forward computes the outputs of all tokens of x into dst (L×max(H, Hv)·dv), which Forward returns; a
	// zero dst is allocated. The output of token i depends on past and on the tokens of its
	// sequence up to i.
	//
	// past (N·Hv·dk×dv) holds the states before the first tokens of the N sequences. In past and
	// present the state of head h of sequence s is in the rows (s·Hv + h)·dk … (s·Hv + h + 1)·dk −
	// 1, as in an ONNX tensor (N, Hv, dk, dv). A zero past stands for states of zeros. Forward
	// writes the states after the last tokens of the sequences to present, which has the shape of
	// past, unless present is zero. A sequence without tokens has the same state in past and
	// present. A padding token leaves the state unchanged if its decay g is 0 and, for the delta
	// rules, its strength β is 0 or, for the rules Linear and Gated, its key or its value is 0.
	//
	// Forward takes O(L·dk·dv) time per head for L tokens. In Forward each processor holds the
	// state S of a head once or twice and a few rows of a chunk of tokens. Forward divides heads of
	// values and sequences among GOMAXPROCS processors, and also divides the columns of S if there
	// are more processors, unless values have at most 32 elements or dst is q or k. The bits of
	// outputs do not depend on GOMAXPROCS. Cutting a sequence into two calls of Forward, with
	// present of the first as past of the second, changes the rounding only. After the first call
	// of a size, Forward allocates nothing if dst is given and present is given or zero.
	//
	// NaN and Inf in a token reach every output that depends on the token. NaN and Inf in a token
	// may change the rounding of earlier outputs. dst may be exactly x.V, or, unless there are more
	// heads of values than of keys, x.Q or x.K, where its shape allows, and present may be past;
	// other overlaps are not allowed. Forward panics if
	// shapes do not fit, if the rule needs a decay g or a strength β that is missing, and if a g or
	// β is given that the rule does not have.
	Forward(dst dense.Matrix[T], x Tokens[T], past, present dense.Matrix[T]) dense.Matrix[T]

	// Backward computes the gradients of the sum Σ dout∘out + Σ dpresent∘present, where out and
	// present are the results of Forward for x and past. Backward writes the gradients with respect
	// to the matrices of x to dx, which Backward returns, and the gradient with respect to past to
	// dpast. Backward allocates the matrices that x has and dx does not have. Backward writes no
	// gradient to a zero dpast, and takes a zero dpresent as zeros. If all heads share the strength
	// β, the gradient of β is the sum of those of all heads. The gradients of a head of keys and
	// values are sums over the heads of queries that read the head, in a fixed order.
	//
	// Backward takes five to fifteen times as long as Forward. Backward stores the state before
	// every chunk of 48 tokens, because computing earlier states by dividing by decays would lose
	// accuracy. In Backward each processor needs memory for the stored states of L tokens,
	// L·dk·dv/48 numbers. After the first call of a size, Backward allocates nothing if all
	// gradients are given.
	//
	// The gradient of a decay is a difference of sums over the tokens of a chunk, with a rounding
	// error in proportion to these sums. NaN or Inf in a sequence makes all gradients of the
	// sequence unreliable. The matrices of gradients that Backward writes must not overlap each
	// other or an input. Backward panics if shapes do not fit, as Forward does.
	Backward(dx Tokens[T], dpast dense.Matrix[T], x Tokens[T], past, dout, dpresent dense.Matrix[T]) Tokens[T]

	// NewState returns an empty state for queries and keys of dimension d and values of dimension
	// dv. NewState returns an error if d or dv is below 1, or if S takes more memory than the
	// machine has.
	NewState(d, dv int) (State[T], error)
}

// recurrence is the Recurrence of one element type.
type recurrence[T dense.Float] struct {
	opts                 Options
	queryHeads, keyHeads int // heads of Q and of K
	valueHeads, heads    int // heads of V, each with a state, and of outputs
	calls                pool.Of[call[T]]
	gradients            pool.Of[backwardCall[T]]
	scans                pool.Of[scan[T]]
}

// New returns a [Recurrence]. New returns an error for Heads below 1, Heads that are no multiple of
// KeyHeads or too many for memory, ValueHeads that do not fit, a Rule that is none of the four, and
// a Scale that is not finite.
func New[T dense.Float](opts Options) (Recurrence[T], error) {
	var r any
	var err error
	switch any(*new(T)).(type) {
	case float32:
		r, err = new32(opts)
	case float64:
		r, err = new64(opts)
	}
	if err != nil {
		return nil, err
	}
	return r.(Recurrence[T]), nil
}

//go:noinline
func new32(o Options) (any, error) { return newOf[float32](o) }

//go:noinline
func new64(o Options) (any, error) { return newOf[float64](o) }

func newOf[T dense.Float](opts Options) (*recurrence[T], error) {
	heads, keyHeads := opts.Heads, cmp.Or(opts.KeyHeads, opts.Heads)
	valueHeads := cmp.Or(opts.ValueHeads, keyHeads)
	if err := layout.CheckHeads[T](heads, keyHeads); err != nil {
		return nil, fmt.Errorf("recurrence: %w", err)
	}
	if valueHeads < keyHeads || valueHeads%keyHeads != 0 || valueHeads > keyHeads && heads != keyHeads {
		return nil, fmt.Errorf("recurrence: ValueHeads = %d, KeyHeads = %d, Heads = %d, want ValueHeads equal to KeyHeads, or a multiple of KeyHeads and Heads equal to KeyHeads",
			valueHeads, keyHeads, heads)
	}
	if err := limit.Memory[T](valueHeads); err != nil {
		return nil, fmt.Errorf("recurrence: ValueHeads = %d: %w", valueHeads, err)
	}
	if opts.Rule < Linear || opts.Rule > GatedDelta {
		return nil, fmt.Errorf("recurrence: Rule = %d, want one of Linear (%d) to GatedDelta (%d)", int(opts.Rule), int(Linear), int(GatedDelta))
	}
	if math.IsNaN(opts.Scale) || math.IsInf(opts.Scale, 0) {
		return nil, fmt.Errorf("recurrence: Scale = %v, want a finite number", opts.Scale)
	}
	return &recurrence[T]{opts: opts, queryHeads: heads, keyHeads: keyHeads, valueHeads: valueHeads, heads: max(heads, valueHeads)}, nil
}

func (r *recurrence[T]) Forward(dst dense.Matrix[T], x Tokens[T], past, present dense.Matrix[T]) dense.Matrix[T] {
	dk, dv := r.check(x)
	r.checkQueries(x)
	sequences := sequencesOf(x)
	r.checkStates("past", past, sequences, dk, dv)
	r.checkStates("present", present, sequences, dk, dv)
	dst = dense.Ensure(dst, x.K.Rows, r.heads*dv)
	if r.valueHeads > r.keyHeads && (same(dst, x.Q) || same(dst, x.K)) {
		panic(fmt.Sprintf("recurrence: dst is q or k, want other memory for %d heads of values that share %d of keys", r.valueHeads, r.keyHeads))
	}
	r.run(dst, x, past, present, dk, dv)
	return dst
}

// run is Forward after its checks. A zero dst is not written.
func (r *recurrence[T]) run(dst dense.Matrix[T], x Tokens[T], past, present dense.Matrix[T], dk, dv int) {
	c := r.calls.Get()
	*c = call[T]{
		r: r, dst: dst, x: x, past: past, present: present, dk: dk, dv: dv,
		from: layout.Starts(c.from[:0], x.Lengths, x.K.Rows),
	}
	c.split()
	parallel.Do(sequencesOf(x)*r.valueHeads*c.shares, c)
	*c = call[T]{from: c.from}
	r.calls.Put(c)
}

// call is one call of Forward. A task of the call is a head of values of a sequence, or some columns
// of its state.
type call[T dense.Float] struct {
	r             *recurrence[T]
	dst           dense.Matrix[T]
	x             Tokens[T]
	past, present dense.Matrix[T]
	dk, dv        int
	from          []int // the first tokens of the sequences, then the number of tokens
	shares        int   // tasks per S
}

// splitAbove is the number of multiply-adds of a head above which columns of S are divided. Each
// task repeats the work that does not depend on the columns.
const splitAbove = 1 << 20

// split sets the number of shares. Several tasks per S give work to idle processors, but need
// queries and keys that are not overwritten by outputs.
func (c *call[T]) split() {
	c.shares = 1
	pieces := (len(c.from) - 1) * c.r.valueHeads
	if pieces == 0 || same(c.dst, c.x.Q) || same(c.dst, c.x.K) ||
		float64(c.x.K.Rows)/float64(len(c.from)-1)*float64(c.dk)*float64(c.dv) < splitAbove {
		return
	}
	c.shares = max(1, min((parallel.Idle()+1)/pieces, columnBlocks(c.dv)))
}

// blockColumns divides the number of columns of every share but the last, so that shares are whole
// vectors on every processor.
const blockColumns = 32

// columnBlocks returns the number of blocks of dv columns.
func columnBlocks(dv int) int { return (dv + blockColumns - 1) / blockColumns }

// same reports whether two matrices begin with the same element.
func same[T dense.Float](a, b dense.Matrix[T]) bool {
	return len(a.Data) > 0 && len(b.Data) > 0 && &a.Data[0] == &b.Data[0]
}

func (c *call[T]) Piece(i int) {
	r := c.r
	i, share := i/c.shares, i%c.shares
	sequence, head := i/r.valueHeads, i%r.valueHeads
	from := parallel.Share(columnBlocks(c.dv), c.shares, share) * blockColumns
	to := min(parallel.Share(columnBlocks(c.dv), c.shares, share+1)*blockColumns, c.dv)
	x := r.headOf(c.x, head, c.from[sequence], c.from[sequence+1])
	x.V = x.V.ColRange(from, to)
	l := r.scans.Get()
	l.start(r, x, c.dk, to-from)
	l.from = from
	l.setState(columnsOf(stateOf(c.past, i, c.dk), from, to))
	group := r.heads / r.valueHeads
	dst := c.dst
	if dst.Cols > 0 {
		dst = layout.Heads(dst.RowRange(c.from[sequence], c.from[sequence+1]), head*group, (head+1)*group, r.heads)
	}
	l.forward(dst)
	if c.present.Rows > 0 {
		l.copyState(columnsOf(stateOf(c.present, i, c.dk), from, to))
	}
	l.release()
	r.scans.Put(l)
}

// stateOf returns the rows of state i in m, or an empty m.
func stateOf[T dense.Float](m dense.Matrix[T], i, dk int) dense.Matrix[T] {
	if m.Rows == 0 {
		return m
	}
	return m.RowRange(i*dk, (i+1)*dk)
}

// columnsOf returns the columns from ≤ e < to of m, or an empty m.
func columnsOf[T dense.Float](m dense.Matrix[T], from, to int) dense.Matrix[T] {
	if m.Rows == 0 {
		return m
	}
	return m.ColRange(from, to)
}

// scale returns the factor of outputs.
func (r *recurrence[T]) scale(dk int) T {
	return T(cmp.Or(r.opts.Scale, 1/math.Sqrt(float64(max(dk, 1)))))
}
