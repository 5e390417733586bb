package performer

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// Batch is attention over many heads and many sequences in one call. Rows are tokens, one sequence
// after another. Heads are blocks of columns: columns h·d … (h+1)·d−1 of q and h·dv … (h+1)·dv−1 of
// the output are head h. A Batch does not transpose or copy heads. There may be fewer heads of keys
// and values than of queries (grouped or multi-query attention): head h of H heads of queries reads
// head h/(H/Hk) of Hk heads of keys. Forward and Backward are ForwardSequences and
// BackwardSequences of one sequence all of whose keys count. Goroutines may share a Batch if they
// may share the attention of its heads.
type Batch[T dense.Float] interface {
	Differentiable[T]
	Streaming[T]

	// ForwardSequences computes the attention of each head of q (Lq×H·d), in each sequence, over
	// its head of k (Lk×Hk·d) and v (Lk×Hk·dv) in that sequence. It writes the outputs to dst
	// (Lq×H·dv) and returns dst; a zero dst is allocated.
	//
	// The output of a head in a sequence has the bits of its bidirectional attention for views of
	// this head and sequence without the keys that do not count. Attention whose weights depend on
	// places, as with a Window, a Chunk or a Slope, is an exception. The same bits hold for causal
	// attention if there are as many queries as keys, and no gap between keys that count. A causal
	// query i sees the keys j ≤ i + Past that count. The output of a query that sees no key is zero.
	// The number of rows after valid rows does not change the outputs of the valid rows.
	//
	// Each head of each sequence is one unit of work. Heads that read the same keys are one unit if
	// they have the same linear, bidirectional attention, and their keys are summed once.
	// GOMAXPROCS processors share the units. The last units, fewer than processors, run one after
	// another with the parallelism of the attention. Bits do not depend on this. ForwardSequences
	// copies the keys and values that count unless they come first in their sequence. For linear
	// causal attention with 0 < Past < Lk−1 it also holds queries and outputs with one row for each
	// key.
	//
	// dst may be exactly q if dv = d; dst must not overlap k or v. ForwardSequences panics with the
	// error of Check.
	ForwardSequences(dst, q, k, v dense.Matrix[T], s Sequences) dense.Matrix[T]

	// Check returns nil if q (Lq×H·d), k (Lk×Hk·d), v (Lk×Hk·dv), s and the attention of the heads
	// fit together. Check returns an error if attention of another package that is not
	// [PrefixAttention] would have to leave out keys or has a Past. Causal attention of another
	// package may still panic for other shapes.
	Check(q, k, v dense.Matrix[T], s Sequences) error

	// BackwardSequences writes the gradients of L = Σ_ic dout_ic·out_ic with respect to q (Lq×H·d),
	// k (Lk×Hk·d) and v (Lk×Hk·dv) into dq, dk and dv, and returns these; a zero matrix is
	// allocated. out (Lq×H·dv) is the result of ForwardSequences for the same sequences. The
	// gradient of a head of keys and values is a sum over the heads of queries that read it, in a
	// fixed order.
	//
	// Gradients of keys and values that do not count, or that no query sees, are exactly zero, and
	// so are gradients of queries that see no key. If the row of dout of a query in a head is zero,
	// the gradient of the query is zero, and the query adds nothing to other gradients, even if it
	// is NaN. So if dout is zero in padding, the gradients of valid tokens depend neither on the
	// contents of the padding nor on its length, to the last bit. Attention of another package gets
	// all rows, unless it is [PrefixDifferentiable], or bidirectional and [PrefixAttention].
	//
	// If all rows count, dq has the bits of Backward for views of each head, and so have dk and dv
	// if every head of queries has its own head of keys. Processors share heads of keys and
	// sequences, and bits do not depend on this. BackwardSequences copies rows that count if they
	// are not consecutive. For groups it copies the queries if their attention takes them together,
	// and otherwise holds the gradients of a head of keys.
	//
	// dq, dk and dv must not overlap each other nor an input. BackwardSequences panics with the
	// shapes if they do not fit, with the text of CanBackward if CanBackward returns an error, and
	// in the cases of ForwardSequences.
	BackwardSequences(dq, dk, dv, q, k, v, dout dense.Matrix[T], s Sequences) (_, _, _ dense.Matrix[T])

	// Dims returns the number of heads of queries, the number of heads of keys and values, and the
	// dimension of the queries, or 0 for any dimension.
	Dims() (heads, keyHeads, d int)

	// Head returns the attention of a head of queries. Head panics if there is no such head.
	Head(head int) Attention[T]
}

type batch[T dense.Float] struct {
	heads, keyHeads int
	dim             int       // of queries, 0 for any
	units           []unit[T] // only the first unit, if all heads have the same attention
	count           int       // of units
}

var _ Batch[float32] = (*batch[float32])(nil)

// unit is a run of heads that are computed together.
type unit[T dense.Float] struct {
	attention Attention[T]
	from, to  int
}

// NewBatch returns attention with the given numbers of heads of queries, and of keys and values.
// There is one attention for all heads, or one attention for each head of the queries.
//
// The error reports heads or keyHeads below 1, heads that are not a multiple of keyHeads or too
// many for memory, a number of attentions other than 1 and heads, an attention that is nil, and
// attentions for queries of different dimensions.
func NewBatch[T dense.Float](heads, keyHeads int, attentions ...Attention[T]) (Batch[T], error) {
	return door.Choose[T, Batch[T]](batch32, batch64, batchArguments[T]{heads, keyHeads, attentions})
}

// batchArguments has the arguments of NewBatch.
type batchArguments[T dense.Float] struct {
	heads, keyHeads int
	attentions      []Attention[T]
}

//go:noinline
func batch32(a any) (any, error) { return newBatch(a.(batchArguments[float32])) }

//go:noinline
func batch64(a any) (any, error) { return newBatch(a.(batchArguments[float64])) }

func newBatch[T dense.Float](a batchArguments[T]) (*batch[T], error) {
	heads, keyHeads, attentions := a.heads, a.keyHeads, a.attentions
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
		if sharesKeys(u.attention) {
			u.to = group
		}
		b.units, b.count = []unit[T]{u}, heads/u.to
		return b, nil
	}
	for h := 0; h < heads; {
		u := unit[T]{attention: attentions[h], from: h, to: h + 1}
		for sharesKeys(u.attention) && u.to%group != 0 && attentions[u.to] == u.attention {
			u.to++
		}
		b.units = append(b.units, u)
		h = u.to
	}
	b.count = len(b.units)
	return b, nil
}

// isNil reports whether an attention is nil or a nil pointer of some type.
func isNil[T dense.Float](attention Attention[T]) bool {
	v := reflect.ValueOf(attention)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// sharesKeys reports whether an attention prepares keys once for all heads that read them.
func sharesKeys[T dense.Float](attention Attention[T]) bool {
	switch a := attention.(type) {
	case maskedAttention[T]:
		return a.sharesKeys()
	case PrefixAttention[T]:
		_, gradients := a.(Differentiable[T]) // which may be those of one head
		_, places := a.(PrefixDifferentiable[T])
		return (places || !gradients) && reflect.TypeOf(a).Comparable()
	}
	return false
}

// unit returns unit i of b.count units.
func (b *batch[T]) unit(i int) unit[T] {
	if b.count == len(b.units) {
		return b.units[i]
	}
	u := b.units[0]
	return unit[T]{attention: u.attention, from: i * u.to, to: (i + 1) * u.to}
}

// fewTogether is the largest number of queries of all heads over a head of keys that exact attention
// computes together: it reads keys and values once.
const fewTogether = 32

// together returns the unit of all heads over the keys of u if these heads have equal exact
// attention and so few queries that they are computed together, and otherwise u. The result is
// false if u is part of such a unit and not its first part.
func (b *batch[T]) together(u unit[T], queries int) (unit[T], bool) {
	group := b.heads / b.keyHeads
	if e, ok := u.attention.(exact[T]); !ok || e.takesBits() || group == 1 || queries*group > fewTogether {
		return u, true
	}
	first := u.from / group * group
	for h := first; h < first+group; h++ {
		if b.Head(h) != u.attention {
			return u, true
		}
	}
	return unit[T]{u.attention, first, first + group}, u.from == first
}

func (b *batch[T]) Dims() (heads, keyHeads, d int) { return b.heads, b.keyHeads, b.dim }

func (b *batch[T]) Head(head int) Attention[T] {
	if head < 0 || head >= b.heads {
		panic(fmt.Sprintf("performer: head %d of a Batch of %d heads", head, b.heads))
	}
	at, _ := slices.BinarySearchFunc(b.units, head, func(u unit[T], head int) int { return cmp.Compare(u.to-1, head) })
	return b.units[min(at, len(b.units)-1)].attention
}

func (b *batch[T]) Check(q, k, v dense.Matrix[T], s Sequences) error {
	if err := b.fits(q, k, v); err != nil {
		return err
	}
	if err := s.fits(q.Rows, k.Rows); err != nil {
		return err
	}
	return b.checkMasks(k.Rows, s, takesMask[T])
}

// checkMasks returns an error if an attention that cannot take masks would have to leave out some
// of the keys, or has a past that it cannot ignore.
func (b *batch[T]) checkMasks(keys int, s Sequences, takesMask func(Attention[T]) bool) error {
	if s.Valid == nil && s.Past == nil {
		return nil
	}
	for _, u := range b.units {
		if takesMask(u.attention) {
			continue
		}
		d, described := u.attention.(Described)
		ignoresPast := described && !d.Describe().Causal
		from := layout.Starts(nil, s.lengthsOfKeys(), keys)
		for i := range len(from) - 1 {
			if s.keysIn(from[i], from[i+1]) != nil || !ignoresPast && s.pastOf(i) != 0 {
				return fmt.Errorf("performer: sequence %d has keys that do not count or a past, which %T cannot take", i, u.attention)
			}
		}
	}
	return nil
}

// fits returns an error unless the shapes of q (Lq×H·d), k (Lk×Hk·d) and v (Lk×Hk·dv) fit together
// and b.
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
