package blocks

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/store"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Options are the parameters of [New]. With the zero value of Options, attention is exact.
type Options struct {
	// Softmax has the mask, causal or none, and the Scale, which is not negative.
	performer.Softmax

	// Threshold, at least 0 and below 1, bounds what a block of 64 queries leaves out: the keys
	// that the block does not read have at most the share Threshold of the attention weights of
	// four sample queries. With a Threshold of zero every block of keys is read.
	Threshold float64

	// EightBits makes Forward compute scores, weights and values in 8-bit integers, except between
	// causal queries and keys of one block of 64 tokens. With EightBits Forward is two to three
	// times as fast on processors that multiply 8-bit integers, with relative errors of about 1 %.
	EightBits bool
}

// Attention is softmax attention in which a block of 64 queries reads only some blocks of 64 keys;
// the comment of package blocks says which. Outputs of causal attention do not depend on later
// tokens, bit for bit. In bidirectional attention the four queries by which a block of 64 queries
// chooses keys may be padding rows of q. The matrix dst of Forward may be q itself where shapes
// allow, and must not overlap k or v.
//
// Each output is a weighted average of the values of the keys that the query reads. An output with
// NaN or ±Inf is computed again from all keys, and a block of 64 keys with NaN or ±Inf in the keys
// or values is always read. NaN and ±Inf in q, k and v reach the outputs that they reach in exact
// attention; only a score of finite q_i and k_j that overflows the type T has no effect on output i
// if query i does not read key j.
//
// Backward computes in the type T, even with EightBits, the exact gradients of attention over the
// keys that Forward reads, as if the choice of these keys were constant, or over all keys for a
// block with a query that is not finite. CanBackward returns nil. NewState returns an error.
type Attention[T dense.Float] struct {
	performer.Batch[T]
	of sweeper[T]
}

// sweeper is an *attention[T] behind an interface, so that importers do not compile it.
type sweeper[T dense.Float] interface {
	sweep(q, k, v dense.Matrix[T], rows []int, thresholds []float64) (outs []dense.Matrix[T], read [][]int)
}

// ForwardThresholds returns in outs[t] those rows of the outputs of Forward with Options.Threshold
// = thresholds[t] whose indices are in the argument rows, to rounding. The result read[t][i] is the
// number of keys that the query with index rows[i] reads with the threshold thresholds[t].
//
// However many thresholds there are, ForwardThresholds takes the time to choose blocks for all
// queries and to compute the outputs of rows with the smallest threshold.
//
// ForwardThresholds panics if the shapes of q, k and v do not fit, if rows are not ascending
// indices of rows of q, or if thresholds are not descending numbers above 0 and below 1.
func (a Attention[T]) ForwardThresholds(q, k, v dense.Matrix[T], rows []int, thresholds []float64) (outs []dense.Matrix[T], read [][]int) {
	if err := a.Check(q, k, v, performer.Sequences{}); err != nil {
		panic(err)
	}
	if a.Describe().Causal && q.Rows != k.Rows {
		panic(fmt.Sprintf("blocks: q is %d×%d and k is %d×%d, want as many rows", q.Rows, q.Cols, k.Rows, k.Cols))
	}
	for i, row := range rows {
		if row < 0 || row >= q.Rows || i > 0 && row < rows[i-1] {
			panic(fmt.Sprintf("blocks: rows[%d] = %d, want ascending rows of q, which is %d×%d", i, row, q.Rows, q.Cols))
		}
	}
	for i, t := range thresholds {
		if !(t > 0 && t < 1) || i > 0 && t > thresholds[i-1] {
			panic(fmt.Sprintf("blocks: thresholds[%d] = %v, want descending numbers above 0 and below 1", i, t))
		}
	}
	return a.of.sweep(q, k, v, rows, thresholds)
}

type attention[T dense.Float] struct{ Options }

func (a *attention[T]) sweep(q, k, v dense.Matrix[T], rows []int, thresholds []float64) ([]dense.Matrix[T], [][]int) {
	c := sequence.Call[T]{Q: dense.SplitHeads(q, 1, 1), K: k, V: v}
	return coded.SweepBlocks(a.attention(c, 0), rows, thresholds, a.EightBits)
}

// New returns softmax attention that reads only some blocks of keys. New returns an error for a
// Scale that is negative or not finite, and for a Threshold that is negative, NaN or at least 1.
func New[T dense.Float](o Options) (Attention[T], error) {
	return door.Choose[T, Attention[T]](new32, new64, o)
}

//go:noinline
func new32(o any) (any, error) { return open[float32](o.(Options)) }

//go:noinline
func new64(o any) (any, error) { return open[float64](o.(Options)) }

func open[T dense.Float](o Options) (Attention[T], error) {
	if !(o.Scale >= 0) || T(o.Scale)-T(o.Scale) != 0 {
		return Attention[T]{}, fmt.Errorf("blocks: Scale = %v, want a finite %T of at least 0", o.Scale, T(0))
	}
	if !(o.Threshold >= 0 && o.Threshold < 1) {
		return Attention[T]{}, fmt.Errorf("blocks: Threshold = %v, want at least 0 and less than 1", o.Threshold)
	}
	a := &attention[T]{o}
	b, err := performer.NewBatch[T](performer.BatchOptions{Heads: 1}, sequence.Head[T]{Of: a})
	return Attention[T]{b, a}, err
}

var _ sequence.Kind[float32] = (*attention[float32])(nil)

func (a *attention[T]) Describe() sequence.Description {
	return sequence.Description{Causal: a.Causal, Masks: true, SharesKeys: true}
}

func (a *attention[T]) Alike(sequence.Kind[T]) bool { return false }

func (a *attention[T]) NewStore(sequence.Run[T]) (store.TokenStore[T], error) {
	return nil, errors.New("blocks: attention by blocks has no state, want Exact attention, with a TopK")
}

func (a *attention[T]) Forward(c sequence.Call[T]) {
	c = a.seen(c)
	var heads []tiles.Head[T]
	for h := range c.Q.Heads {
		heads = append(heads, a.attention(c, h))
	}
	coded.AttendBlocks(heads, a.Threshold, a.EightBits)
}

// seen returns c with the keys that queries may see, and the queries that see a key.
func (a *attention[T]) seen(c sequence.Call[T]) sequence.Call[T] {
	if a.Causal {
		return c.TrimCausal()
	}
	if c = c.Keys(c.Span()); !slices.Contains(c.Valid, false) {
		c.Valid = nil
	}
	if c.K.Rows == 0 {
		c.Zero()
		c = c.Queries(0, 0)
	}
	return c
}

func (a *attention[T]) attention(c sequence.Call[T], h int) tiles.Head[T] {
	x := tiles.Head[T]{
		Q: c.Query(h), K: c.K, V: c.V, Scores: tiles.Scores{Scale: a.Scale},
		Mask: tiles.Mask[T]{Causal: a.Causal, Valid: c.Valid},
	}
	if a.Causal {
		x.Mask.Past = c.Past
	}
	if a.Scale == 0 {
		x.Scores.Scale = 1 / math.Sqrt(float64(x.Q.Cols))
	}
	if c.Out.Heads > 0 {
		x.Dst = c.Output(h)
	}
	return x
}
