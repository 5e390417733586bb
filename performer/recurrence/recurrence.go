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

// Rule says how a [Recurrence] updates the matrix S, the state of a head, with a token that has a
// key k, a value v, a decay g and a strength β.
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

func (r Rule) decays() bool { return r == Gated || r == GatedDelta }

// corrects reports whether the rule has a strength β and writes β·k·(v − Sᵀk)ᵀ.
func (r Rule) corrects() bool { return r == Delta || r == GatedDelta }

// Options has the numbers of heads, the rule and the scale of a [Recurrence]: by default the linear
// rule S ← S + k·vᵀ for keys k and values v, and the scale 1/√dk for keys of dimension dk.
type Options struct {
	// Heads is the number H of heads of queries, and KeyHeads the number Hk of heads of keys and,
	// without ValueHeads, of values. A zero KeyHeads stands for Heads. Of H heads of queries and Hk
	// heads of keys, head h of queries reads the state of head ⌊h·Hk/H⌋ of keys.
	Heads, KeyHeads int

	// ValueHeads is the number Hv of heads of values, of decays and of strengths β, a multiple of
	// KeyHeads; zero stands for KeyHeads.
	//
	// If ValueHeads is above KeyHeads, Heads must equal KeyHeads: head h of values has a state and
	// an output, and reads head ⌊h·KeyHeads/ValueHeads⌋ of queries and keys, as in Qwen3-Next with
	// KeyHeads 16 and ValueHeads 32.
	ValueHeads int

	Rule Rule

	// Scale multiplies the outputs. A zero Scale stands for dk^−½.
	Scale float64

	// NormaliseKeys multiplies each key k by (Σ_i k_i² + 10⁻⁶)^−½. The delta rules need keys of
	// norm 1: with a key k of norm 1 and a strength 0 ≤ β ≤ 2 a token with the value 0 does not
	// increase the norm of the state S, and with β = 1 a token with the value v makes Sᵀk = v.
	NormaliseKeys bool
}

// Recurrence is causal linear attention without denominators, the operator LinearAttention of ONNX
// with all update rules. Each token updates the state of the Recurrence by a [Rule]: for keys of
// dimension dk and values of dimension dv, a dk×dv matrix S for each head of values. After a token
// with the query q has updated the state S of a head, the output is Sᵀq times Options.Scale.
//
// A delta rule changes the state S so that Sᵀk moves towards the value v of a token with key k
// [Schlag et al. 2021]. A decay g ≤ 0 multiplies the state S by e^g and so shrinks the contribution
// of older tokens [Yang et al. 2025].
//
// Goroutines may share a Recurrence.
type Recurrence[T dense.Float] interface {
	// Forward writes the outputs of the tokens x to dst and returns dst, with a row for each token
	// and a block of columns for each head of queries or, if values have more heads, of values; a
	// zero dst is allocated.
	//
	// The argument past holds the states before the first tokens of the sequences; a zero past
	// stands for states of zeros. With Hv heads of dk×dv states, the state of head h of sequence s
	// is in the dk rows from row (s·Hv + h)·dk on of the matrices past and present, as in an ONNX
	// tensor (N, Hv, dk, dv) for N sequences. Forward writes the states after the last tokens of
	// the sequences to the argument present unless present is zero.
	//
	// For a sequence without tokens, Forward copies the state from past to present. A padding token
	// leaves the state S unchanged if the decay g is 0 and, for the delta rules, the strength β is
	// 0 or, for the rules Linear and Gated, the key or the value is 0.
	//
	// Forward takes O(L·dk·dv) time per head for L tokens with keys of dimension dk and values of
	// dimension dv. The outputs of Forward do not depend on GOMAXPROCS, bit for bit. If present of
	// one call of Forward is past of the next call, the two calls give, to rounding, the outputs of
	// one call for the whole sequence. Forward allocates nothing if dst is given and an earlier
	// call had tokens of equal size.
	//
	// A NaN or Inf in a token reaches every output of Forward that depends on the token, and may
	// change the rounding of earlier outputs. The matrix dst may be exactly x.V or, unless values
	// have more heads than keys, x.Q or x.K if the shapes are equal, and present may be past; all
	// further overlaps are wrong. Forward panics if the shapes of matrices do not fit, and unless
	// the tokens x have decays and strengths β if and only if the rule needs them.
	Forward(dst dense.Matrix[T], x Tokens[T], past, present dense.Matrix[T]) dense.Matrix[T]

	// Backward writes the gradients of the sum Σ dout∘out + Σ dpresent∘present, where out and
	// present are the results of Forward for the tokens x and the states past. Backward writes the
	// gradients with respect to the matrices of x to the matrices of dx, which Backward returns,
	// and the gradient with respect to past to dpast. Backward allocates matrices of gradients that
	// the tokens x need and the argument dx lacks. Backward writes no gradient to a dpast that is
	// the zero matrix; a zero dpresent stands for zeros.
	//
	// If all heads share the strength β of a token, Backward sums the gradient with respect to β
	// over all heads. If several heads of queries read a head of keys and values, Backward sums the
	// gradients of the head over the heads of queries in a fixed order.
	//
	// Backward takes five to fifteen times as long as Forward, and each processor needs memory for
	// L·dk·dv/48 numbers for L tokens and dk×dv states. Backward allocates nothing if all gradients
	// are given and an earlier call had tokens of equal size. Backward computes the gradient of a
	// decay as a difference of sums over a chunk of tokens, with a rounding error in proportion to
	// the sums. A NaN or Inf in a sequence makes all gradients of the sequence unreliable.
	//
	// The matrices of dx must overlap neither one another nor an input. Backward panics if the
	// shapes of matrices do not fit, and where [Recurrence.Forward] panics.
	Backward(dx Tokens[T], dpast dense.Matrix[T], x Tokens[T], past, dout, dpresent dense.Matrix[T]) Tokens[T]

	// NewState returns a State without tokens for queries and keys of dimension d and values of
	// dimension dv. NewState returns an error if d or dv is below 1, or if the matrices of a State
	// take more memory than the machine has.
	NewState(d, dv int) (State[T], error)
}

type recurrence[T dense.Float] struct {
	opts                 Options
	queryHeads, keyHeads int // heads of Q and of K
	valueHeads, heads    int // heads of V, each with a state, and of outputs
	calls                pool.Of[forwardCall[T]]
	gradients            pool.Of[backwardCall[T]]
	scans                pool.Of[scan[T]]
}

// New returns a [Recurrence].
//
// New returns an error if Heads is below 1, no multiple of KeyHeads or too large for memory, if
// ValueHeads does not fit Heads and KeyHeads, if Rule is unknown, or if Scale is not finite.
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

func (r *recurrence[T]) run(dst dense.Matrix[T], x Tokens[T], past, present dense.Matrix[T], dk, dv int) {
	c := r.calls.Get()
	*c = forwardCall[T]{
		r: r, dst: dst, x: x, past: past, present: present, dk: dk, dv: dv,
		from: layout.Starts(c.from[:0], x.Lengths, x.K.Rows),
	}
	c.split()
	parallel.Do(sequencesOf(x)*r.valueHeads*c.shares, c)
	*c = forwardCall[T]{from: c.from}
	r.calls.Put(c)
}

// forwardCall is one call of Forward. A task is a head of values of a sequence, or some columns of
// its state.
type forwardCall[T dense.Float] struct {
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
func (c *forwardCall[T]) split() {
	c.shares = 1
	pieces := (len(c.from) - 1) * c.r.valueHeads
	if pieces == 0 || same(c.dst, c.x.Q) || same(c.dst, c.x.K) ||
		float64(c.x.K.Rows)/float64(len(c.from)-1)*float64(c.dk)*float64(c.dv) < splitAbove {
		return
	}
	c.shares = max(1, min((parallel.Idle()+1)/pieces, columnBlocks(c.dv)))
}

// Shares have multiples of blockColumns columns: whole vectors on every processor.
const blockColumns = 32

func columnBlocks(dv int) int { return (dv + blockColumns - 1) / blockColumns }

// same reports whether two matrices begin with the same element.
func same[T dense.Float](a, b dense.Matrix[T]) bool {
	return len(a.Data) > 0 && len(b.Data) > 0 && &a.Data[0] == &b.Data[0]
}

func (c *forwardCall[T]) Piece(i int) {
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

func stateOf[T dense.Float](m dense.Matrix[T], i, dk int) dense.Matrix[T] {
	if m.Rows == 0 {
		return m
	}
	return m.RowRange(i*dk, (i+1)*dk)
}

func columnsOf[T dense.Float](m dense.Matrix[T], from, to int) dense.Matrix[T] {
	if m.Rows == 0 {
		return m
	}
	return m.ColRange(from, to)
}

func (r *recurrence[T]) scale(dk int) T {
	return T(cmp.Or(r.opts.Scale, 1/math.Sqrt(float64(max(dk, 1)))))
}
