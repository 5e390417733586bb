package recurrence

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/rff"
)

// Rule says how a [Recurrence] takes a token with key k, value v, decay g and strength β
// into its sums S (dk×dv).
type Rule int

const (
	Linear     Rule = iota // S ← S + k·vᵀ
	Gated                  // S ← e^g·S + k·vᵀ
	Delta                  // S ← S + β·k·(v − Sᵀk)ᵀ
	GatedDelta             // S ← e^g·S, then as Delta
)

var ruleNames = [...]string{"linear", "gated", "delta", "gated_delta"}

// String returns the name that the rule has in ONNX, such as gated_delta.
func (r Rule) String() string {
	if r < 0 || int(r) >= len(ruleNames) {
		return fmt.Sprintf("Rule(%d)", int(r))
	}
	return ruleNames[r]
}

// decays reports whether the rule takes a decay.
func (r Rule) decays() bool { return r == Gated || r == GatedDelta }

// corrects reports whether the rule writes the difference from what S says already.
func (r Rule) corrects() bool { return r == Delta || r == GatedDelta }

// Options selects what a [Recurrence] computes. The zero value is the linear rule with the scale
// dk^−½.
type Options[T dense.Float] struct {
	Rule Rule

	// Scale multiplies the outputs; 0 stands for dk^−½.
	Scale float64

	// NormaliseKeys multiplies each key by (Σx² + 10⁻⁶)^−½, after the map if there is one. The
	// delta rules want it: with ‖k‖ = 1 and 0 ≤ β ≤ 2 no token makes S grow without a new value,
	// and β = 1 replaces the value that S gives for k.
	NormaliseKeys bool

	// Features maps queries, and its partner for keys ([rff.Keys]) maps keys: dk is then the number
	// of features. Nil leaves queries and keys as they are.
	Features rff.Map[T]
}

// Recurrence is causal attention without denominators. Tokens write the sums S (dk×dv for each
// head of keys) by a [Rule] and read
//
//	out = scale·Sᵀq
//
// after they have written: the operator LinearAttention of ONNX, in all of its modes. The linear
// rule adds every value to S, which mixes the values of keys that are not orthogonal; a delta rule
// moves Sᵀk towards v [Schlag et al. 2021]; a decay forgets [Yang et al. 2025].
//
// A Recurrence does not change after construction and may be shared by goroutines.
type Recurrence[T dense.Float] interface {
	// Forward computes the outputs of all tokens into dst (L×H·dv), which Forward returns; a zero dst
	// is allocated. Row i reads the sums after past and after the tokens of its sequence up to i.
	//
	// past (N·Hk·dk×dv) holds the sums before the first token of the N sequences, those of
	// head h of sequence s in the rows (s·Hk + h)·dk … (s·Hk + h + 1)·dk − 1, as an ONNX tensor
	// (N, Hk, dk, dv) has them; a zero past stands for zeros. present, of the same shape, becomes the
	// sums after the last token; a sequence without tokens keeps its sums. A zero present is not
	// written.
	//
	// A token of padding changes no sums if g = 0 and, for the delta rules, β = 0 or, for the others,
	// k = 0 or v = 0. Its own output is scale·Sᵀq.
	//
	// Forward takes O(L·dk·dv) time per head, one pass over S a token (see the package), and holds S
	// once or twice and a few rows of a chunk of tokens for each processor. Heads of keys and sequences
	// are shared among GOMAXPROCS processors. If there are fewer of them than processors, columns of S
	// are shared too, unless values have at most 32 elements or dst is q or k. Bits do not depend on
	// that. Cutting a sequence in two, with present as the next past, changes rounding only. With dst,
	// and with present if present is wanted, Forward allocates nothing once its memory is there.
	//
	// NaN and Inf reach every output that depends on them, and earlier outputs may change in their
	// rounding only.
	//
	// dst may be exactly q, k or v where its shape allows, and present may be past; other
	// overlaps are not allowed. Forward panics with the shapes if they do not fit, and if the
	// rule wants a decay or β and there is none, or the other way round.
	Forward(dst dense.Matrix[T], x Tokens[T], past, present dense.Matrix[T]) dense.Matrix[T]

	// Backward writes the gradients of L = Σ dout∘out + Σ dpresent∘present, where Forward makes out and
	// present of x and past. Gradients with respect to the matrices of x go into dx, which Backward
	// returns, and the gradient with respect to past goes into dpast. A zero matrix of dx is allocated
	// if x has it; a zero dpast is not written, and a zero dpresent stands for zeros. If all heads
	// share β, its gradient is a sum over heads. Gradients of keys and values are sums over the queries
	// that read them, in a fixed order.
	//
	// Backward takes five to fifteen times as long as Forward. It keeps the sums before every chunk of 48
	// tokens, dk·dv numbers each, as dividing by a decay would lose them. So memory grows with
	// L·dk·dv/48 for each head of keys at work, one for each processor. Once that memory is there, and
	// with all gradients given, Backward allocates nothing.
	//
	// The gradient of a decay is a difference of sums over the tokens of a chunk; its error is relative
	// to the sums. NaN or Inf in a sequence makes all gradients of the sequence unreliable.
	//
	// Gradients must not overlap each other or an input. Backward panics with the shapes if they do not
	// fit, as Forward does, and with the text of CanBackward if CanBackward returns an error.
	Backward(dx Tokens[T], dpast dense.Matrix[T], x Tokens[T], past, dout, dpresent dense.Matrix[T]) Tokens[T]

	// CanBackward returns nil, or an error that says why gradients cannot go through the maps.
	CanBackward() error

	// NewState returns an empty state for queries and keys of dimension d and values of dimension dv.
	// With maps d must be the dimension of their points. NewState returns an error if d or dv is below
	// 1, if d is not that of the maps, or if S takes more memory than the machine has.
	NewState(d, dv int) (State[T], error)
}

// recurrence is the Recurrence of a width.
type recurrence[T dense.Float] struct {
	opts            Options[T]
	query, key      rff.Map[T] // nil without
	heads, keyHeads int
	d, m            int // of the maps, 0 without
	calls           pool.Of[call[T]]
	gradients       pool.Of[reverseCall[T]]
	scans           pool.Of[scan[T]]
	fingerprint     frame.Fingerprint
}

// New returns the recurrence with H = heads heads of queries and Hk = keyHeads heads of keys and
// values: head h of the queries reads the sums of head h/(H/Hk) of the keys.
//
// New returns an error if heads or keyHeads is below 1, if heads is no multiple of keyHeads, if
// memory does not hold a number for each head, if the rule is none of the four, if the scale is not
// finite, or if the map of keys is nil or differs from Features in dimension or number of features.
func New[T dense.Float](heads, keyHeads int, opts Options[T]) (Recurrence[T], error) {
	var r any
	var err error
	switch o := any(opts).(type) {
	case Options[float32]:
		r, err = new32(heads, keyHeads, o)
	case Options[float64]:
		r, err = new64(heads, keyHeads, o)
	}
	if err != nil {
		return nil, err
	}
	return r.(Recurrence[T]), nil
}

//go:noinline
func new32(heads, keyHeads int, o Options[float32]) (any, error) { return newOf(heads, keyHeads, o) }

//go:noinline
func new64(heads, keyHeads int, o Options[float64]) (any, error) { return newOf(heads, keyHeads, o) }

func newOf[T dense.Float](heads, keyHeads int, opts Options[T]) (*recurrence[T], error) {
	if err := layout.CheckHeads[T](heads, keyHeads); err != nil {
		return nil, fmt.Errorf("recurrence: %w", err)
	}
	if opts.Rule < Linear || opts.Rule > GatedDelta {
		return nil, fmt.Errorf("recurrence: Rule = %d, want one of Linear (%d) to GatedDelta (%d)", int(opts.Rule), int(Linear), int(GatedDelta))
	}
	if math.IsNaN(opts.Scale) || math.IsInf(opts.Scale, 0) {
		return nil, fmt.Errorf("recurrence: Scale = %v, want a finite number", opts.Scale)
	}
	r := &recurrence[T]{opts: opts, heads: heads, keyHeads: keyHeads}
	if r.query = opts.Features; r.query == nil {
		return r, nil
	}
	if r.key = rff.Keys(r.query); r.key == nil {
		return nil, fmt.Errorf("recurrence: Keys of Features, a %T, is nil", r.query)
	}
	r.d, r.m = r.query.Dims()
	if d, m := r.key.Dims(); d != r.d || m != r.m {
		return nil, fmt.Errorf("recurrence: Features maps queries of R^%d to %d features, but keys of R^%d to %d, want the same", r.d, r.m, d, m)
	}
	return r, nil
}

// Tokens are the input of a [Recurrence]. A row is a token, a head is a block of columns. In
// gradients each field holds the gradient with respect to the input of its name.
type Tokens[T dense.Float] struct {
	Q dense.Matrix[T] // L×H·d
	K dense.Matrix[T] // L×Hk·d
	V dense.Matrix[T] // L×Hk·dv

	// Decay holds g ≤ 0, the logarithm of the factor that S is multiplied by: L×Hk, one for a head,
	// or L×Hk·dk, one for each row of S. Leave it zero for rules without a decay. A g above 0 lets
	// S grow, and one below −2²⁰ may count as −2²⁰, whose factor is zero.
	Decay dense.Matrix[T]

	// Beta holds β: L×Hk, or L×1, the same for all heads. Leave it zero for other rules than the
	// delta rules.
	Beta dense.Matrix[T]

	// Lengths are the numbers of tokens of sequences whose rows follow one another. A length may
	// be zero. Nil stands for one sequence of all rows.
	Lengths []int
}

func (r *recurrence[T]) Forward(dst dense.Matrix[T], x Tokens[T], past, present dense.Matrix[T]) dense.Matrix[T] {
	dk, dv := r.check(x)
	r.checkQueries(x)
	sequences := sequencesOf(x)
	r.checkSums("past", past, sequences, dk, dv)
	r.checkSums("present", present, sequences, dk, dv)
	dst = dense.Ensure(dst, x.K.Rows, r.heads*dv)
	r.run(dst, x, past, present, dk, dv)
	return dst
}

// run computes what has been checked. A zero dst is not wanted.
func (r *recurrence[T]) run(dst dense.Matrix[T], x Tokens[T], past, present dense.Matrix[T], dk, dv int) {
	c := r.calls.Get()
	*c = call[T]{
		r: r, dst: dst, x: x, past: past, present: present, dk: dk, dv: dv,
		from: layout.Starts(c.from[:0], x.Lengths, x.K.Rows),
	}
	c.split()
	parallel.Do(sequencesOf(x)*r.keyHeads*c.shares, c)
	*c = call[T]{from: c.from}
	r.calls.Put(c)
}

// call is the task of one call: a head of keys in a sequence is a piece, or a share
// of its columns.
type call[T dense.Float] struct {
	r             *recurrence[T]
	dst           dense.Matrix[T]
	x             Tokens[T]
	past, present dense.Matrix[T]
	dk, dv        int
	from          []int // where sequences begin, and where the last ends
	shares        int   // of the columns of each S
}

// splitAbove is the number of multiply-adds of a product with S, for all tokens of a head, that
// is worth doing twice what does not depend on the columns.
const splitAbove = 1 << 20

// split chooses the number of shares: more than one for processors that would have nothing to do.
// Shares must find queries and keys as they were.
func (c *call[T]) split() {
	c.shares = 1
	pieces := (len(c.from) - 1) * c.r.keyHeads
	if pieces == 0 || same(c.dst, c.x.Q) || same(c.dst, c.x.K) ||
		float64(c.x.K.Rows)/float64(len(c.from)-1)*float64(c.dk)*float64(c.dv) < splitAbove {
		return
	}
	c.shares = max(1, min((parallel.Idle()+1)/pieces, columnBlocks(c.dv)))
}

// blockColumns is the number of columns of S that shares are multiples of: whole vectors of every
// processor.
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
	sequence, head := i/r.keyHeads, i%r.keyHeads
	from := parallel.Share(columnBlocks(c.dv), c.shares, share) * blockColumns
	to := min(parallel.Share(columnBlocks(c.dv), c.shares, share+1)*blockColumns, c.dv)
	x := r.headOf(c.x, head, c.from[sequence], c.from[sequence+1])
	x.V = x.V.ColRange(from, to)
	l := r.scans.Get()
	l.start(r, x, c.dk, to-from)
	l.from = from
	l.setSums(columnsOf(sumsOf(c.past, i, c.dk), from, to))
	group := r.heads / r.keyHeads
	dst := c.dst
	if dst.Cols > 0 {
		dst = layout.Heads(dst.RowRange(c.from[sequence], c.from[sequence+1]), head*group, (head+1)*group, r.heads)
	}
	l.forward(dst)
	if c.present.Rows > 0 {
		l.copySums(columnsOf(sumsOf(c.present, i, c.dk), from, to))
	}
	l.forget()
	r.scans.Put(l)
}

// sumsOf returns the sums of head i, counted over all sequences, or nothing of nothing.
func sumsOf[T dense.Float](m dense.Matrix[T], i, dk int) dense.Matrix[T] {
	if m.Rows == 0 {
		return m
	}
	return m.RowRange(i*dk, (i+1)*dk)
}

// columnsOf returns the columns from ≤ e < to, or nothing of nothing.
func columnsOf[T dense.Float](m dense.Matrix[T], from, to int) dense.Matrix[T] {
	if m.Rows == 0 {
		return m
	}
	return m.ColRange(from, to)
}

// scale returns the factor of outputs.
func (r *recurrence[T]) scale(dk int) T {
	if r.opts.Scale == 0 {
		return T(1 / math.Sqrt(float64(max(dk, 1))))
	}
	return T(r.opts.Scale)
}
