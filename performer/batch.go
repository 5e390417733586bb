package performer

import (
	"cmp"
	"fmt"
	"reflect"
	"runtime"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Batch is attention over many heads, an [Attention], and over many sequences in one call. Rows are
// tokens, one sequence after another. Heads are blocks of columns: columns h·d … (h+1)·d−1 of q and
// h·dv … (h+1)·dv−1 of the output are head h. A Batch does not transpose or copy heads. There may
// be fewer heads of keys and values than of queries (grouped or multi-query attention): head h of H
// queries reads head h/(H/Hk) of Hk keys.
//
// ForwardSequences leaves out keys that do not count. With causal forms a sequence may have
// different numbers of queries and keys. Goroutines may share a Batch if they may share its forms.
type Batch[T dense.Float] interface {
	// Forward is ForwardSequences of one sequence, all of whose keys count.
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]

	// ForwardSequences computes the attention of each head of q (Lq×H·d), in each sequence, over its
	// head of k (Lk×Hk·d) and v (Lk×Hk·dv) in that sequence. It writes the outputs to dst (Lq×H·dv) and
	// returns dst; a zero dst is allocated.
	//
	// The bits of each head and sequence are the bits of a bidirectional form for views of this head
	// and sequence without the keys that do not count, unless places matter to the form, as they do with a
	// Window or a Slope. The same holds for causal forms if there are as
	// many queries as keys, and no gap between keys that count. In causal forms query i sees the keys j
	// ≤ i that count, or j ≤ i + Past. A query that sees no key gets zero. The number of rows after
	// valid rows does not change the valid rows.
	//
	// Each head of each sequence is one unit of work. Heads that read the same keys are one unit if one
	// linear, bidirectional form serves them, and their keys are summed once. GOMAXPROCS processors
	// share the units. The last units, fewer than processors, run one after another with the
	// parallelism of the form. Bits do not depend on this. Beyond the memory of the forms,
	// ForwardSequences copies the keys and values that count unless they come first in their sequence.
	// For linear causal attention with 0 < Past < Lk−1 it also holds queries and outputs with one row
	// for each key. With a dst, it allocates nothing once that memory is there, if the forms do not.
	//
	// dst may be exactly q if dv = d; dst must not overlap k or v. ForwardSequences panics with the
	// shapes if they do not fit. It also panics if a form of another package that is not [PrefixAttention]
	// would have to leave out keys or has a past.
	ForwardSequences(dst, q, k, v dense.Matrix[T], s Sequences) dense.Matrix[T]

	// Check returns the error that ForwardSequences panics with, or nil if q (Lq×H·d), k (Lk×Hk·d), v
	// (Lk×Hk·dv), s and the forms fit together. Causal forms of other packages may panic for shapes of
	// their own.
	Check(q, k, v dense.Matrix[T], s Sequences) error

	// Backward is BackwardSequences of one sequence, all of whose keys count.
	Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T])

	// BackwardSequences writes the gradients of L = Σ_ic dout_ic·out_ic with respect to q (Lq×H·d), k
	// (Lk×Hk·d) and v (Lk×Hk·dv) into dq, dk and dv, and returns these; a zero matrix is allocated. out
	// (Lq×H·dv) is the result of ForwardSequences for the same sequences. The gradient of a head of
	// keys and values is a sum over the heads of queries that read it, in a fixed order.
	//
	// Gradients of keys and values that do not count, or that no query sees, are exactly zero, and so
	// are gradients of queries that see no key. If the row of dout of a query in a head is zero, the
	// gradient of the query is zero, and the query adds nothing to other gradients, even if it holds
	// NaN. So if dout is zero in padding, the gradients of valid tokens depend neither on the contents
	// of the padding nor on its length, to the last bit. A form of another package gets all rows as
	// they are, unless it is bidirectional and [PrefixAttention].
	//
	// If all rows count, dq has the bits that Backward of the form gives for views of each head, and so
	// have dk and dv if every head of queries has its own head of keys. GOMAXPROCS processors share
	// heads of keys and sequences as in Forward, and bits do not depend on this. Beyond the memory of
	// the forms, BackwardSequences copies rows that count if they are not consecutive. For groups it
	// copies the queries if the form takes them together, and holds the gradients of a head of keys if
	// not. It allocates nothing once that memory is there, if the forms do not.
	//
	// dq, dk and dv must not overlap each other nor an input. BackwardSequences panics with the shapes
	// if they do not fit, with the text of CanBackward if it returns an error, and as ForwardSequences
	// for forms of another package.
	BackwardSequences(dq, dk, dv, q, k, v, dout dense.Matrix[T], s Sequences) (_, _, _ dense.Matrix[T])

	// CanBackward returns nil if all forms are Differentiable and can be differentiated. Otherwise the
	// error says why the first other form cannot.
	CanBackward() error

	// NewState returns an empty [State] of all heads, for queries and keys of dimension d and
	// values of dimension dv a head. It returns an error if d is not the dimension that the forms
	// take, if d or dv is below 1, if a form has no State, as only [Linear], [Exact], causal
	// [Landmarks] and clusters of package clusters have, or if the State takes more memory than the
	// machine has.
	NewState(d, dv int) (*State[T], error)

	// Dims returns the number of heads of queries, the number of heads of keys and values, and the
	// dimension of the queries that the forms take, or 0 for any.
	Dims() (heads, keyHeads, d int)

	// Head returns the attention of a head of queries. It panics if there is no such head.
	Head(head int) Attention[T]
}

type batch[T dense.Float] struct {
	heads, keyHeads int
	dim             int       // of queries, 0 for any
	units           []unit[T] // the first alone, if there is one form for all
	count           int       // of units
}

var (
	_ Batch[float32]          = (*batch[float32])(nil)
	_ Differentiable[float32] = (*batch[float32])(nil)
	_ Streaming[float32]      = (*batch[float32])(nil)
)

// unit is a run of heads that are computed together.
type unit[T dense.Float] struct {
	attention Attention[T]
	from, to  int
}

// NewBatch returns attention with the given numbers of heads of queries, and of keys and values.
// There is one form for all heads, or one form for each head of the queries.
//
// The error reports heads or keyHeads below 1, heads that are not a multiple of keyHeads or too
// many for memory, a number of forms other than 1 and heads, a nil form, and forms that take
// queries of different dimensions.
func NewBatch[T dense.Float](heads, keyHeads int, attentions ...Attention[T]) (Batch[T], error) {
	var b any
	var err error
	switch attentions := any(attentions).(type) {
	case []Attention[float32]:
		b, err = batch32(heads, keyHeads, attentions)
	case []Attention[float64]:
		b, err = batch64(heads, keyHeads, attentions)
	}
	if err != nil {
		return nil, err
	}
	return b.(Batch[T]), nil
}

//go:noinline
func batch32(heads, keyHeads int, attentions []Attention[float32]) (any, error) {
	return newBatch(heads, keyHeads, attentions)
}

//go:noinline
func batch64(heads, keyHeads int, attentions []Attention[float64]) (any, error) {
	return newBatch(heads, keyHeads, attentions)
}

func newBatch[T dense.Float](heads, keyHeads int, attentions []Attention[T]) (*batch[T], error) {
	if err := layout.CheckHeads[T](heads, keyHeads); err != nil {
		return nil, fmt.Errorf("performer: %w", err)
	}
	if len(attentions) != 1 && len(attentions) != heads {
		return nil, fmt.Errorf("performer: %d attentions, want one, or one for each of %d heads", len(attentions), heads)
	}
	b := &batch[T]{heads: heads, keyHeads: keyHeads}
	for i, attention := range attentions {
		if isNil(attention) {
			return nil, fmt.Errorf("performer: attention %d is nil", i)
		}
		switch d := description(attention).Dim; {
		case d == 0:
		case b.dim == 0:
			b.dim = d
		case b.dim != d:
			return nil, fmt.Errorf("performer: attention %d takes points of R^%d, one before it of R^%d, want the same", i, d, b.dim)
		}
	}
	group := heads / keyHeads
	if len(attentions) == 1 {
		u := unit[T]{attention: attentions[0], to: 1}
		if shares(u.attention) {
			u.to = group
		}
		b.units, b.count = []unit[T]{u}, heads/u.to
		return b, nil
	}
	for h := 0; h < heads; {
		u := unit[T]{attention: attentions[h], from: h, to: h + 1}
		for shares(u.attention) && u.to%group != 0 && attentions[u.to] == u.attention {
			u.to++
		}
		b.units = append(b.units, u)
		h = u.to
	}
	b.count = len(b.units)
	return b, nil
}

// isNil reports whether there is no form: nil, or a nil pointer of some type.
func isNil[T dense.Float](attention Attention[T]) bool {
	v := reflect.ValueOf(attention)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// shares reports whether the form sums keys once for all heads that read them.
func shares[T dense.Float](attention Attention[T]) bool {
	p, ok := attention.(maskedAttention[T])
	return ok && p.shares()
}

// unit returns unit i of count. If there is one form, all units are like the first.
func (b *batch[T]) unit(i int) unit[T] {
	if b.count == len(b.units) {
		return b.units[i]
	}
	u := b.units[0]
	return unit[T]{attention: u.attention, from: i * u.to, to: (i + 1) * u.to}
}

func (b *batch[T]) Dims() (heads, keyHeads, d int) { return b.heads, b.keyHeads, b.dim }

func (b *batch[T]) Head(head int) Attention[T] {
	if head < 0 || head >= b.heads {
		panic(fmt.Sprintf("performer: head %d of a Batch of %d heads", head, b.heads))
	}
	at, _ := slices.BinarySearchFunc(b.units, head, func(u unit[T], head int) int { return cmp.Compare(u.to-1, head) })
	return b.units[min(at, len(b.units)-1)].attention
}

func (b *batch[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	return b.ForwardSequences(dst, q, k, v, Sequences{})
}

func (b *batch[T]) ForwardSequences(dst, q, k, v dense.Matrix[T], s Sequences) dense.Matrix[T] {
	b.mustFit(q, k, v, s)
	dst = dense.Ensure(dst, q.Rows, v.Cols/b.keyHeads*b.heads)
	b.run(batched[T]{gradientRequest: gradientRequest[T]{request: request[T]{dst: dst, q: q, k: k, v: v}}, s: s, pieces: b.count})
	return dst
}

func (b *batch[T]) Check(q, k, v dense.Matrix[T], s Sequences) error {
	if err := b.fits(q, k, v); err != nil {
		return err
	}
	if err := s.fits(q.Rows, k.Rows); err != nil {
		return err
	}
	return b.takes(k.Rows, s, takesMasks[T])
}

// takes returns an error if a form that cannot take masks would have to leave out some of so many
// keys, or has a past that it cannot ignore.
func (b *batch[T]) takes(keys int, s Sequences, can func(Attention[T]) bool) error {
	if s.Valid == nil && s.Past == nil {
		return nil
	}
	for _, u := range b.units {
		if can(u.attention) {
			continue
		}
		d, described := u.attention.(Described)
		ignores := described && !d.Describe().Causal
		from := layout.Starts(nil, s.lengthsOfKeys(), keys)
		for i := range len(from) - 1 {
			if s.keysIn(from[i], from[i+1]) != nil || !ignores && s.pastOf(i) != 0 {
				return fmt.Errorf("performer: sequence %d has keys that do not count or a past, which %T cannot take", i, u.attention)
			}
		}
	}
	return nil
}

// mustFit panics with the error of Check.
func (b *batch[T]) mustFit(q, k, v dense.Matrix[T], s Sequences) {
	if err := b.Check(q, k, v, s); err != nil {
		panic(err.Error())
	}
}

// fits returns an error unless q (Lq×H·d), k (Lk×Hk·d) and v (Lk×Hk·dv) fit together and the forms.
func (b *batch[T]) fits(q, k, v dense.Matrix[T]) error {
	q.Check()
	k.Check()
	v.Check()
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

// batched is the task of one call. For outputs a piece is a unit in a sequence; for gradients it is
// a head of keys in a sequence.
type batched[T dense.Float] struct {
	gradientRequest[T] // the matrices of all heads and sequences
	b                  *batch[T]
	s                  Sequences
	backward           bool
	pieces             int // of a sequence

	fromQuery, fromKey []int // where sequences begin, and where the last sequence ends
}

// batchedCalls keeps tasks between calls.
var batchedCalls pool.Pair[batched[float32], batched[float64]]

// run computes a call.
func (b *batch[T]) run(call batched[T]) {
	c := pool.Get[batched[T]](&batchedCalls)
	call.b = b
	call.fromQuery = layout.Starts(c.fromQuery[:0], call.s.Queries, call.q.Rows)
	call.fromKey = layout.Starts(c.fromKey[:0], call.s.lengthsOfKeys(), call.k.Rows)
	*c = call
	n, processors := (len(c.fromQuery)-1)*c.pieces, runtime.GOMAXPROCS(0)
	together := n / processors * processors
	parallel.Do(together, c)
	for i := together; i < n; i++ {
		c.piece(i, processors)
	}
	*c = batched[T]{fromQuery: c.fromQuery, fromKey: c.fromKey}
	pool.Put(&batchedCalls, c)
}

func (c *batched[T]) Piece(i int) { c.piece(i, 1) }

// piece computes piece i with the given number of processors.
func (c *batched[T]) piece(i, processors int) {
	sequence, at := i/c.pieces, i%c.pieces
	if c.backward {
		c.group(sequence, at, processors)
		return
	}
	u := c.b.unit(at)
	p := c.requestOf(sequence, u, processors)
	p.dst = c.heads(c.dst, sequence, u)
	answer(u.attention, p)
}

// requestOf returns the request to a unit in a sequence, without the matrices to write.
func (c *batched[T]) requestOf(sequence int, u unit[T], processors int) request[T] {
	return request[T]{
		q: c.heads(c.q, sequence, u), k: c.keyHead(c.k, sequence, u), v: c.keyHead(c.v, sequence, u),
		heads: u.to - u.from, processors: processors,
		valid: c.s.keysIn(c.fromKey[sequence], c.fromKey[sequence+1]),
		past:  c.s.pastOf(sequence),
	}
}

// heads returns the part of m for a sequence and a unit, where m has the shape of the queries or of
// the outputs.
func (c *batched[T]) heads(m dense.Matrix[T], sequence int, u unit[T]) dense.Matrix[T] {
	return layout.Heads(m.RowRange(c.fromQuery[sequence], c.fromQuery[sequence+1]), u.from, u.to, c.b.heads)
}

// keyHead returns the part of m for a sequence and the head of keys of a unit, where m has the
// shape of the keys or of the values.
func (c *batched[T]) keyHead(m dense.Matrix[T], sequence int, u unit[T]) dense.Matrix[T] {
	return layout.Head(m.RowRange(c.fromKey[sequence], c.fromKey[sequence+1]), u.from/(c.b.heads/c.b.keyHeads), c.b.keyHeads)
}

func (b *batch[T]) NewState(d, dv int) (*State[T], error) {
	if len(b.units) == 1 {
		return newState(b.heads, b.keyHeads, d, dv, []Attention[T]{b.units[0].attention})
	}
	attentions := make([]Attention[T], b.heads)
	for _, u := range b.units {
		for h := u.from; h < u.to; h++ {
			attentions[h] = u.attention
		}
	}
	return newState(b.heads, b.keyHeads, d, dv, attentions)
}
