package performer

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/store"
)

// Batch is attention over many heads and many sequences in one call. Each row of the matrices of
// queries, keys, values and outputs is a token, and sequences follow one another. Heads are blocks
// of columns: with queries of dimension d and values of dimension dv, head h has the columns h·d …
// (h+1)·d−1 of q and h·dv … (h+1)·dv−1 of the output. Head h of H heads of queries reads head
// ⌊h·Hk/H⌋ of Hk heads of keys and values.
//
// Goroutines may share a Batch if goroutines may share the attention of each head. [Exact],
// [Linear] and blocks.Attention embed a Batch of one head. The zero Batch panics.
type Batch[T dense.Float] struct{ of inside[T] }

// inside is a *batch[T] behind an interface, so that importers do not compile it.
type inside[T dense.Float] interface {
	forward(dst, q, k, v dense.Matrix[T], s Sequences, alone bool) dense.Matrix[T]
	backward(dq, dk, dv, q, k, v, dout dense.Matrix[T], s Sequences, alone bool) (_, _, _ dense.Matrix[T])
	canBackward() error
	check(q, k, v dense.Matrix[T], s Sequences) error
	describe() Description
	head(head int) Attention[T]
	newState(d, dv int) (*State[T], error)
	attend(c AttendArgs[T]) (Result[T], error)
	attendBackward(c AttendArgs[T], dout dense.Tensor[T]) (Gradients[T], error)
}

// Forward computes attention of Lq queries q (Lq×H·d) over Lk keys k (Lk×Hk·d) and values v
// (Lk×Hk·dv), in H and Hk heads, into dst (Lq×H·dv), which Forward returns; Forward allocates a dst
// that is zero. Forward is [Batch.ForwardSequences] for one sequence of all rows. Forward of a
// causal [Exact], [Linear] or blocks.Attention panics unless there are as many queries as keys.
func (b Batch[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	return b.made().forward(dst, q, k, v, Sequences{}, true)
}

// ForwardSequences computes attention of each head of queries q (Lq×H·d) in each sequence over the
// head of keys k (Lk×Hk·d) and values v (Lk×Hk·dv) that the head of queries reads. ForwardSequences
// writes the outputs to dst (Lq×H·dv), returns dst, and allocates a dst that is zero.
//
// In causal attention, query i of a sequence sees the keys j ≤ i + Past of the sequence that are
// Valid, by the fields Past and Valid of the argument s. The output of a query that sees no key is
// zero. In bidirectional attention without a Window, a Chunk or a Slope, the outputs of a head in a
// sequence equal, bit for bit, outputs of Forward for the queries and the Valid keys of the head,
// except in package blocks, where hidden keys between Valid keys take places in blocks of keys. In
// causal attention, the outputs of Valid tokens equal, bit for bit, outputs of Forward for the
// Valid tokens alone if a sequence has as many queries as keys, and no gap between Valid keys.
//
// With a Window, a Chunk or a Slope, hidden keys between Valid keys change the places of keys, and
// may so change outputs. The number of rows of k and v after the last Valid row changes no output.
//
// Processors share the heads of all sequences, and the number of processors changes no output.
// Heads of queries that read one head of keys with one linear, bidirectional attention are computed
// together, with one sum over the keys. ForwardSequences copies the valid keys and values of a
// sequence unless all valid keys come first in the sequence. For linear causal attention of several
// queries whose first query comes after earlier keys (Sequences.Past above 0), ForwardSequences may
// hold copies of queries and outputs, with at most one row for each key.
//
// The matrix dst may be q itself if values have the dimension of queries, and must not overlap k or
// v. If [Batch.Check] returns an error, ForwardSequences panics with this error.
func (b Batch[T]) ForwardSequences(dst, q, k, v dense.Matrix[T], s Sequences) dense.Matrix[T] {
	return b.made().forward(dst, q, k, v, s, false)
}

// Backward returns the gradients of L = Σ_ic dout_ic·out_ic with respect to q, k and v, where out
// is the result of Forward, as [Batch.BackwardSequences] does with all rows as one sequence.
func (b Batch[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	return b.made().backward(dq, dk, dv, q, k, v, dout, Sequences{}, true)
}

// BackwardSequences writes the gradients of L = Σ_ic dout_ic·out_ic with respect to q (Lq×H·d), k
// (Lk×Hk·d) and v (Lk×Hk·dv) into dq, dk and dv, where out (Lq×H·dv) is the result of
// ForwardSequences for q, k, v and s. BackwardSequences returns dq, dk and dv, and allocates those
// that are zero matrices. The gradient of a head of keys and values is a sum over the heads of
// queries that read this head, in a fixed order.
//
// Gradients of keys and values that Sequences.Valid excludes, or that no query sees, are exactly
// zero, and so are gradients of queries that see no key. If the row of dout of a query in a head is
// zero, the gradient of the query is zero, and the query adds nothing to the gradients of keys and
// values, even if the query is NaN. If dout is zero in the rows of padding, the gradients of valid
// tokens depend neither on the contents nor on the length of the padding, to the last bit.
//
// If all rows are Valid, dq equals, bit for bit, results of Backward for each head of each sequence
// by itself, and so do dk and dv if every head of queries has a head of keys of its own. Processors
// share the heads of keys of all sequences, and the number of processors changes no gradient, to
// the last bit. For several heads of queries over one head of keys, BackwardSequences needs memory
// for a copy of the queries or for the gradients of one head.
//
// The matrices dq, dk and dv must overlap neither each other nor q, k, v and dout.
// BackwardSequences panics for arguments for which ForwardSequences panics, for a dq, dk, dv or
// dout whose shape does not fit, and if [Batch.CanBackward] returns an error.
func (b Batch[T]) BackwardSequences(dq, dk, dv, q, k, v, dout dense.Matrix[T], s Sequences) (_, _, _ dense.Matrix[T]) {
	return b.made().backward(dq, dk, dv, q, k, v, dout, s, false)
}

// CanBackward returns nil if the attention has gradients, and otherwise an error with the reason.
// Attention of a type outside packages performer and blocks has no gradients.
func (b Batch[T]) CanBackward() error { return b.made().canBackward() }

// Check returns nil if the queries q (Lq×H·d), keys k (Lk×Hk·d), values v (Lk×Hk·dv), the sequences
// s and the attention of the heads fit together. Check returns an error if s hides keys from, or
// has a Past for, attention of a type outside packages performer and blocks. Attention of a type
// outside packages performer and blocks may panic for shapes that Check accepts.
func (b Batch[T]) Check(q, k, v dense.Matrix[T], s Sequences) error {
	return b.made().check(q, k, v, s)
}

// Describe says how many heads b has and what b computes; for the zero Batch all fields are zero.
func (b Batch[T]) Describe() Description {
	if b.of == nil {
		return Description{}
	}
	return b.of.describe()
}

// Head returns the attention of a head of queries: the argument of NewBatch for the head, or b
// itself if b is not a result of NewBatch. Head panics unless 0 ≤ head < H for H heads of queries.
func (b Batch[T]) Head(head int) Attention[T] { return b.made().head(head) }

// NewState returns an empty [State] for queries and keys of dimension d and values of dimension dv.
// NewState returns an error for attention that is neither exact nor linear, for d or dv below 1,
// for a d that is not the dimension of the feature maps of the attention, and for a State that
// takes more memory than the machine has.
func (b Batch[T]) NewState(d, dv int) (*State[T], error) { return b.made().newState(d, dv) }

func (b Batch[T]) made() inside[T] {
	if b.of == nil {
		panic(errNotMade.Error())
	}
	return b.of
}

// batch returns b, also for types that embed a Batch.
func (b Batch[T]) batch() Batch[T] { return b }

var errNotMade = errors.New("performer: the attention is zero, want one of a constructor")

// Description has the numbers of heads of a [Batch], and says what the Batch computes.
type Description struct {
	Heads, KeyHeads    int  // heads of queries, and of keys and values
	Dim                int  // dimension of queries and keys; 0 for any
	Causal             bool // query i sees the keys j ≤ i only, in every head
	IndependentQueries bool // with LeastQueries or more, output i depends on no query but i
	LeastQueries       int  // a call with fewer queries may be computed with a smaller error
}

type batch[T dense.Float] struct {
	heads, keyHeads int
	single          bool      // attention of one head, as a constructor has made it
	dim             int       // of queries, 0 for any
	units           []unit[T] // only the first unit, if all heads have the same attention
	count           int       // of units
}

var _ inside[float32] = (*batch[float32])(nil)

// unit is a run of heads that are computed together.
type unit[T dense.Float] struct {
	given Attention[T] // an argument of NewBatch
	of    sequence.Kind[T]
	sequence.Description
	from, to int
}

// BatchOptions has the numbers of heads of a [Batch].
type BatchOptions struct {
	Heads    int // of queries
	KeyHeads int // of keys and values, which divides Heads; zero means Heads
}

// NewBatch returns attention with several heads. The argument attentions is one attention for all
// heads, or one for each head of queries.
//
// If the attention of one head is a Batch of several heads, the result of NewBatch has no
// gradients, and accepts no masks and no past keys.
//
// NewBatch returns an error for Heads below 1, KeyHeads below 0, Heads that are not a multiple of
// KeyHeads or too many for memory, a number of attentions other than 1 and Heads, an attention that
// is nil or zero, and attentions for queries of different dimensions.
func NewBatch[T dense.Float](o BatchOptions, attentions ...Attention[T]) (Batch[T], error) {
	return door.Choose[T, Batch[T]](batch32, batch64, batchArgs{o, attentions})
}

type batchArgs struct {
	BatchOptions
	attentions any
}

//go:noinline
func batch32(args any) (any, error) { return openBatch[float32](args.(batchArgs)) }

//go:noinline
func batch64(args any) (any, error) { return openBatch[float64](args.(batchArgs)) }

func openBatch[T dense.Float](args batchArgs) (Batch[T], error) {
	args.KeyHeads = cmp.Or(args.KeyHeads, args.Heads)
	b, err := newBatch(args.BatchOptions, args.attentions.([]Attention[T]))
	if err != nil {
		return Batch[T]{}, err
	}
	return Batch[T]{b}, nil
}

func single[T dense.Float](a sequence.Kind[T]) Batch[T] {
	d := a.Describe()
	return Batch[T]{&batch[T]{heads: 1, keyHeads: 1, single: true, dim: d.Dim, units: []unit[T]{{nil, a, d, 0, 1}}, count: 1}}
}

func newBatch[T dense.Float](o BatchOptions, attentions []Attention[T]) (*batch[T], error) {
	heads, keyHeads := o.Heads, o.KeyHeads
	if err := layout.CheckHeads[T](heads, keyHeads); err != nil {
		return nil, fmt.Errorf("performer: %w", err)
	}
	if len(attentions) != 1 && len(attentions) != heads {
		return nil, fmt.Errorf("performer: %d attentions, want one, or one for each of %d heads", len(attentions), heads)
	}
	if h, ok := attentions[0].(sequence.Head[T]); ok { // of package blocks
		return single(h.Of).of.(*batch[T]), nil
	}
	b := &batch[T]{heads: heads, keyHeads: keyHeads}
	units := make([]unit[T], len(attentions)) // of each head
	for i, a := range attentions {
		u, ok := unitOf(a)
		if !ok {
			return nil, fmt.Errorf("performer: attention %d is nil", i)
		}
		switch {
		case u.Dim == 0:
		case b.dim == 0:
			b.dim = u.Dim
		case b.dim != u.Dim:
			return nil, fmt.Errorf("performer: attention %d takes points of R^%d, one before it of R^%d, want the same", i, u.Dim, b.dim)
		}
		u.from, u.to = i, i+1
		units[i] = u
	}
	b.setUnits(units)
	return b, nil
}

func (b *batch[T]) setUnits(units []unit[T]) {
	group := b.heads / b.keyHeads
	if len(units) == 1 {
		if units[0].SharesKeys {
			units[0].to = group
		}
		b.units, b.count = units, b.heads/units[0].to
		return
	}
	for h := 0; h < b.heads; {
		u := units[h]
		for u.SharesKeys && u.to%group != 0 && units[u.to].of == u.of {
			u.to++
		}
		b.units = append(b.units, u)
		h = u.to
	}
	b.count = len(b.units)
}

// unitOf returns the unit of an attention, or false if it is nil or zero.
func unitOf[T dense.Float](a Attention[T]) (unit[T], bool) {
	own, made := ownOf(a)
	if own != nil && own.heads == 1 {
		u := own.units[0]
		u.given = a
		return u, true
	}
	return unit[T]{given: a, of: foreign[T]{a}}, made
}

// ownOf returns the batch behind attention of this package and of package blocks, and whether the
// attention is neither nil nor zero. A type of another package that embeds such attention may have
// a Forward of its own.
func ownOf[T dense.Float](a Attention[T]) (own *batch[T], made bool) {
	v := reflect.ValueOf(a)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, false
	}
	self := reflect.TypeFor[Description]().PkgPath()
	e, ok := a.(interface{ batch() Batch[T] })
	if path := v.Type().PkgPath(); !ok || path != self && path != self+"/blocks" {
		return nil, true
	}
	own, made = e.batch().of.(*batch[T])
	return own, made
}

// foreign is attention of another package.
type foreign[T dense.Float] struct{ given Attention[T] }

func (f foreign[T]) Describe() sequence.Description { return sequence.Description{} }

func (f foreign[T]) Forward(c sequence.Call[T]) { f.given.Forward(c.Output(0), c.Query(0), c.K, c.V) }

func (f foreign[T]) Backward(sequence.Call[T]) { panic(f.CanBackward().Error()) }

func (f foreign[T]) CanBackward() error {
	return fmt.Errorf("performer: %T has no derivatives", f.given)
}

func (f foreign[T]) Alike(sequence.Kind[T]) bool { return false }

func (f foreign[T]) NewStore(sequence.Run[T]) (store.TokenStore[T], error) {
	return nil, fmt.Errorf("performer: %T has no state, want Linear or Exact attention", f.given)
}

func (u *unit[T]) name() string { return fmt.Sprintf("%T", cmp.Or[any](u.given, u.of)) }

func (b *batch[T]) unit(i int) unit[T] {
	u := b.units[min(i, len(b.units)-1)]
	if b.count != len(b.units) {
		u.from, u.to = i*u.to, (i+1)*u.to
	}
	return u
}

func (b *batch[T]) unitAt(head int) *unit[T] {
	at, _ := slices.BinarySearchFunc(b.units, head, func(u unit[T], head int) int { return cmp.Compare(u.to-1, head) })
	return &b.units[min(at, len(b.units)-1)]
}

// together returns the unit of all heads over the keys of u if these heads have equal attention and
// so few queries that they are computed together, and otherwise u. The result is false if u is part
// of such a unit and not its first part.
func (b *batch[T]) together(u unit[T], queries int) (unit[T], bool) {
	group := b.heads / b.keyHeads
	if group == 1 || queries*group > u.Together {
		return u, true
	}
	first := u.from / group * group
	for h := first; h < first+group; h++ {
		if b.unitAt(h).of != u.of {
			return u, true
		}
	}
	isFirst := u.from == first
	u.from, u.to = first, first+group
	return u, isFirst
}

func (b *batch[T]) canBackward() error {
	for _, u := range b.units {
		if err := u.of.CanBackward(); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch[T]) describe() Description {
	d := Description{Heads: b.heads, KeyHeads: b.keyHeads, Dim: b.dim, Causal: true, IndependentQueries: true}
	for _, u := range b.units {
		d.Causal, d.IndependentQueries = d.Causal && u.Causal, d.IndependentQueries && u.IndependentQueries
		d.LeastQueries = max(d.LeastQueries, u.LeastQueries)
	}
	return d
}

func (b *batch[T]) head(head int) Attention[T] {
	if head < 0 || head >= b.heads {
		panic(fmt.Sprintf("performer: head %d of a Batch of %d heads", head, b.heads))
	}
	if b.single {
		return Batch[T]{b}
	}
	return b.unitAt(head).given
}

// fits returns an error unless q (Lq×H·d), k (Lk×Hk·d) and v (Lk×Hk·dv) fit together and b.
func (b *batch[T]) fits(q, k, v dense.Matrix[T]) error {
	q.Check()
	k.Check()
	v.Check()
	if b.heads == 1 && q.Cols != k.Cols {
		return fmt.Errorf("performer: q is %d×%d, k is %d×%d, want queries and keys of one dimension", q.Rows, q.Cols, k.Rows, k.Cols)
	}
	if q.Cols%b.heads != 0 || k.Cols%b.keyHeads != 0 || v.Cols%b.keyHeads != 0 || q.Cols/b.heads != k.Cols/b.keyHeads {
		return fmt.Errorf("performer: q is %d×%d, k is %d×%d, v is %d×%d, want columns of %d heads of queries and %d of keys and values",
			q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols, b.heads, b.keyHeads)
	}
	if k.Rows != v.Rows {
		return fmt.Errorf("performer: k is %d×%d, v is %d×%d, want as many values as keys", k.Rows, k.Cols, v.Rows, v.Cols)
	}
	if d := q.Cols / b.heads; b.dim != 0 && d != b.dim {
		return fmt.Errorf("performer: q is %d×%d, k is %d×%d: heads have dimension %d, but the attention takes points of R^%d", q.Rows, q.Cols, k.Rows, k.Cols, d, b.dim)
	}
	return nil
}
