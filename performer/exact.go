package performer

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/store"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// With Softmax, query i gives key j the weight exp(Scale·q_iᵀk_j). The zero Softmax is
// bidirectional, with the scale 1/√d for queries of dimension d.
type Softmax struct {
	// Scale multiplies the products q_iᵀk_j of queries and keys in R^d; zero means 1/√d. Only
	// [Exact] accepts a negative Scale.
	Scale float64

	// Causal lets query i see the keys j ≤ i only, if there are as many queries as keys.
	Causal bool
}

// ExactOptions are options of [NewExact]. The zero value of ExactOptions is bidirectional
// attention with the scale 1/√d for queries of dimension d.
type ExactOptions struct {
	Softmax

	// Softcap replaces a score s = Scale·q_iᵀk_j by Softcap·tanh(s/Softcap), which is within
	// ±Softcap. A Softcap that is zero or beyond the range of the type T leaves scores as they are.
	Softcap float64

	// Window, if above zero, lets a query see only the keys that are at most Window places away.
	// With a Window, Forward of Lq queries of dimension d over values of dimension dv takes
	// O(Lq·Window·(d+dv)) time. In causal attention a query sees Window earlier keys and the key of
	// its own token: the sliding window w of Mistral is a Window of w − 1.
	//
	// Query i of a sequence has the place i + Past, with the Past of [Sequences], and key j the
	// place j, both less the number of first keys that are padding. The first keys of a sequence
	// are padding if Sequences.Valid, or the Mask or the Bias of [Attend], hides these keys from
	// all queries. The place of a key is the number of earlier keys, hidden or not, that are not
	// padding.
	Window int

	// Sinks is the number of first keys that the Window hides from no query [Xiao et al. 2024]. In
	// causal attention a query reads only those of the first keys that are not after the query.
	// Sinks are counted from the first key of a sequence that is not padding.
	Sinks int

	// Chunk, if above zero, divides the tokens of a sequence into chunks of Chunk adjacent places,
	// and lets a query see the keys of its own chunk only. The field Window defines the places of
	// queries and keys. A Chunk cannot be combined with a Window or Sinks.
	Chunk int

	// Bits, which is 0, 3, 4, 8 or 16, is the number of bits of the code in which a [State] keeps
	// each element of keys and values; with zero Bits a State keeps elements of the type T.
	//
	// With Bits of 3, 4 and 8, Forward computes scores, weights and values in integers of 8 bits,
	// after a random rotation of queries and keys. Forward is then about three times as fast on
	// processors that multiply 8-bit integers. With 16 Bits, as with zero Bits, Forward computes in
	// the type T.
	//
	// Whatever Bits is, attention is computed in the type T for gradients, for fewer than 64
	// queries that see all keys, and with a Softcap, a Slope, biases, masks of pairs, Result.Scores
	// or Result.LogSums. Whatever Bits is, attention is computed in the type T for causal scores of
	// up to 256 keys next to a query, and for tiles of 256 keys of which a few, or their values,
	// are more than eight times as large as the mean.
	Bits int

	// KeyBits and ValueBits, if not zero, replace Bits for the keys and the values of a [State].
	// Forward ignores KeyBits and ValueBits.
	KeyBits, ValueBits int

	// TopK, if above zero, lets a query of a [State] read only about TopK keys, those with the
	// highest estimated scores. A key that a query does not read because of TopK counts with an
	// estimated weight, and with the mean value of 64 adjacent tokens. Without a Tolerance, queries
	// of a [State] of at most TopK + 127 tokens read all keys. Forward and gradients ignore TopK.
	//
	// In a State of more tokens a TopK reads fewer bytes than all keys have, but takes more time
	// than reading all keys below about 8·TopK tokens in elements, and 32·TopK in codes.
	TopK int

	// Tolerance, if above zero, lets Step of a [State] raise and lower the number of keys that a
	// query of each head reads, beginning with TopK, to keep measured errors ‖output −
	// exact‖/‖exact‖ below the Tolerance. For one of every 64 tokens, Step also computes the output
	// of a head from all keys, to measure the error of reading only some keys. A head that needs
	// more than a third of all keys for an error within the Tolerance reads all keys. State.TopK
	// returns the number of keys and the measured error of each head. Until Step has measured an
	// error, queries read TopK keys, a number that audit.ChooseTopK chooses.
	Tolerance float64

	// Slope times the distance of query and key is subtracted from scores [Press et al. 2022]. For
	// ALiBi, which has a slope for each head, give [NewBatch] one Exact for each head.
	Slope float64

	// SinkWeight is added to the sum of the weights of each query, as if every query saw one more
	// key with the weight SinkWeight and the value zero.
	SinkWeight float64
}

// Exact is exact softmax attention of queries q_i, keys k_j and values v_j:
//
//	out_i = Σ_j A_ij v_j / (Σ_j A_ij + SinkWeight),  A_ij = exp(Scale·q_iᵀk_j).
//
// Goroutines may share an Exact. [NewBatch] treats Exacts with equal options as one attention.
//
// Forward computes the matrix of scores in small blocks [Rabe & Staats 2021]. For Lq queries and Lk
// keys of dimension d and values of dimension dv, Forward takes O(Lq·Lk·(d+dv)) time, half of that
// if causal. The memory of Forward besides dst does not depend on the numbers of queries and keys,
// except for a copy of keys and values that are columns of wider matrices.
//
// The matrix dst of Forward may be q itself where shapes allow, and must not overlap k or v. If
// infinite or overflowing input makes all scores of a query −Inf, the output is 0/0 = NaN. A score
// of +Inf or NaN makes the output of the query NaN.
//
// Backward takes three to four times as long as Forward and needs memory for three numbers per
// query besides the gradients [Dao et al. 2022]. NaN and Inf in an argument of Backward reach every
// gradient that depends on the argument. CanBackward returns nil.
type Exact[T dense.Float] struct {
	Batch[T]
	options ExactOptions
}

// NewExact returns exact attention. NewExact returns an error for a Window, Sinks or a Chunk that
// is negative or beyond an eighth of what an int holds, a Chunk with a Window or Sinks, Bits other
// than 0, 3, 4, 8 and 16, one of KeyBits and ValueBits without the other and without Bits, a TopK
// that is negative or above 2³⁰, a Tolerance that is negative or not finite, or without a TopK, a
// Scale or a Slope that is not finite in T, a Softcap that is negative or NaN, and a SinkWeight
// that is negative or not finite.
func NewExact[T dense.Float](o ExactOptions) (Exact[T], error) {
	b, err := door.Choose[T, Batch[T]](exact32, exact64, o)
	return Exact[T]{b, o}, err
}

//go:noinline
func exact32(o any) (any, error) { return newExact[float32](o.(ExactOptions)) }

//go:noinline
func exact64(o any) (any, error) { return newExact[float64](o.(ExactOptions)) }

func newExact[T dense.Float](o ExactOptions) (Batch[T], error) {
	if err := check[T](o); err != nil {
		return Batch[T]{}, err
	}
	return single[T](exact[T]{o}), nil
}

// Options returns the options with which NewExact made e.
func (e Exact[T]) Options() ExactOptions { return e.options }

// exact is not used by pointer: heads with the same options have equal attention.
type exact[T dense.Float] struct{ ExactOptions }

var _ sequence.Kind[float32] = exact[float32]{}

func (e exact[T]) Describe() sequence.Description {
	d := sequence.Description{
		Causal: e.Causal, IndependentQueries: !e.Causal && !e.placed(),
		Masks: true, Pairs: true, Sink: e.SinkWeight != 0,
	}
	switch {
	case !e.takesBits():
		d.Together = fewTogether
	case d.IndependentQueries:
		d.LeastQueries = coded.LeastQueries
	}
	return d
}

// Up to fewTogether queries over a head of keys read keys and values once.
const fewTogether = 32

func (e exact[T]) CanBackward() error { return nil }

// block is the number of rows that one goroutine computes at a time.
const block = 64

func (s Softmax) scale(d int) float64 { return cmp.Or(s.Scale, 1/math.Sqrt(float64(d))) }

func (o ExactOptions) scores(d int) tiles.Scores {
	return tiles.Scores{Scale: o.scale(d), Softcap: o.Softcap, Sink: o.SinkWeight}
}

// mask returns which keys the queries see. The place of query 0 is past. All keys count if valid is
// nil.
func (e exact[T]) mask(past int, valid []bool) tiles.Mask[T] {
	return tiles.Mask[T]{Causal: e.Causal, Past: past, Valid: valid, Window: e.Window, Sinks: e.Sinks, Chunk: e.Chunk, Slope: e.Slope}
}

// maskOf returns which keys of a call the queries see. Places begin after the padding.
func (e exact[T]) maskOf(c sequence.Call[T]) tiles.Mask[T] {
	m := e.mask(c.Past, c.Valid)
	if m.Pairs = c.Pairs; e.placed() && c.Q.Rows > 0 {
		m.SkipPadding(c.K.Rows)
	}
	return m
}

func check[T dense.Float](o ExactOptions) error {
	for i, bits := range [...]int{o.Bits, o.KeyBits, o.ValueBits} {
		if bits != 0 && !store.Takes(bits) {
			return fmt.Errorf("performer: %s = %d, want 0, 3, 4, 8 or 16", [...]string{"Bits", "KeyBits", "ValueBits"}[i], bits)
		}
	}
	switch keys, values := o.stateBits(); {
	case o.Window < 0 || o.Window > farthest:
		return fmt.Errorf("performer: Window = %d, want 0 to %d", o.Window, farthest)
	case o.Sinks < 0 || o.Sinks > farthest:
		return fmt.Errorf("performer: Sinks = %d, want 0 to %d", o.Sinks, farthest)
	case o.Chunk < 0 || o.Chunk > farthest:
		return fmt.Errorf("performer: Chunk = %d, want 0 to %d", o.Chunk, farthest)
	case o.Chunk != 0 && (o.Window != 0 || o.Sinks != 0):
		return fmt.Errorf("performer: Chunk = %d with Window = %d and Sinks = %d, want a Chunk or the others", o.Chunk, o.Window, o.Sinks)
	case (keys == 0) != (values == 0):
		return fmt.Errorf("performer: KeyBits = %d and ValueBits = %d without Bits, want both or neither", o.KeyBits, o.ValueBits)
	case o.TopK < 0 || o.TopK > mostTopK:
		return fmt.Errorf("performer: TopK = %d, want 0 to %d", o.TopK, mostTopK)
	case !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 1) || o.Tolerance > 0 && o.TopK == 0:
		return fmt.Errorf("performer: Tolerance = %v with TopK = %d, want a number of at least 0, and 0 without a TopK", o.Tolerance, o.TopK)
	case T(o.Slope)-T(o.Slope) != 0:
		return fmt.Errorf("performer: Slope = %v, want a finite %T", o.Slope, T(0))
	case T(o.Scale)-T(o.Scale) != 0:
		return fmt.Errorf("performer: Scale = %v, want a finite %T", o.Scale, T(0))
	case !(o.Softcap >= 0):
		return fmt.Errorf("performer: Softcap = %v, want at least 0", o.Softcap)
	case !(o.SinkWeight >= 0) || math.IsInf(o.SinkWeight, 0):
		return fmt.Errorf("performer: SinkWeight = %v, want a finite number of at least 0", o.SinkWeight)
	}
	return nil
}

// stateBits returns the bits of the keys and of the values of a State, 0 for elements.
func (o ExactOptions) stateBits() (keys, values int) {
	return cmp.Or(o.KeyBits, o.Bits), cmp.Or(o.ValueBits, o.Bits)
}

const mostTopK = 1 << 30

func (o ExactOptions) takesBits() bool { return o.Bits != 0 && o.Bits <= 8 }

func (o ExactOptions) placed() bool { return o.Window != 0 || o.Chunk != 0 || o.Slope != 0 }

func (e exact[T]) backward(g sums.HeadGradients[T], mask tiles.Mask[T], logSink *float64) {
	tiles.Backward(tiles.HeadGradients[T]{
		DQ: g.DQ, DK: g.DK, DV: g.DV, Q: g.Q, K: g.K, V: g.V, DOut: g.DOut, Scores: e.scores(g.Q.Cols), Mask: mask, LogSink: logSink,
	})
}

func (e exact[T]) Forward(c sequence.Call[T]) {
	if c.Stage != sequence.NoScores {
		e.writeScores(c)
	}
	layout.Fill(c.LogSums, T(math.Log(e.SinkWeight)))
	var copies *layout.Tokens[T]
	switch {
	case c.Pairs.Given():
	case e.Causal:
		c = c.TrimCausal()
	case e.placed():
		c = c.Keys(c.Span())
	default:
		c, copies = c.ValidKeys()
	}
	x := c.ByPlace()
	a := tiles.Head[T]{Dst: x.Out, Q: x.Q, K: c.K, V: c.V, Scores: e.scores(c.K.Cols), Mask: e.maskOf(c), LogSums: c.LogSums}
	switch {
	case c.Q.Heads > 1:
		a.Mask.Places = x.Places()
		tiles.Attend(a)
	case c.LogSums == nil && e.takesBits() && (e.Causal || e.placed() || a.Q.Rows >= coded.LeastQueries) && coded.Takes(a):
		coded.Attend(a)
	default:
		tiles.Attend(a)
	}
	x.Release()
	copies.Release()
}

func (e exact[T]) writeScores(c sequence.Call[T]) {
	mask, scores, q := e.maskOf(c), e.scores(c.K.Cols), c.Query(0)
	parallel.Rows(c.Scores.Rows, block, func(lo, hi int) {
		rows := c.Scores.RowRange(lo, hi)
		tiles.Raw(scores, rows, q.RowRange(lo, hi), c.K)
		if c.Stage >= sequence.AfterSoftcap {
			tiles.Cap(scores, rows)
		}
		switch {
		case c.Stage == sequence.AfterSoftmax:
			tiles.WeighSeen(scores, &mask, rows, lo)
		case c.Stage == sequence.AfterBias:
			mask.AddTo(rows, lo)
		}
	})
}

func (e exact[T]) Backward(c sequence.Call[T]) {
	if c.Pairs.Given() || e.placed() {
		e.backwardMasked(c)
		return
	}
	x, past := sequence.Select(c, e.Causal), 0
	if e.Causal {
		past = x.Shift()
	}
	if x.Gather(c) {
		e.backward(x.HeadGradients, e.mask(past, x.ValidKeys), c.LogSink)
	}
	x.Scatter(c)
}

// backwardMasked writes the gradients of one head with Pairs, or with weights that depend on
// places. A query whose output has the gradient zero sees no key. Without Pairs such queries at
// both ends, and keys at both ends that do not count, are left out: bits do not depend on their
// number.
func (e exact[T]) backwardMasked(c sequence.Call[T]) {
	from, to, first, end := 0, c.Q.Rows, 0, c.K.Rows
	seen := c
	if !c.Pairs.Given() {
		first, end = c.Span()
		for to > 0 && layout.IsZero(c.DOut.Row(0, 0, to-1)) {
			to--
		}
		for from < to && layout.IsZero(c.DOut.Row(0, 0, from)) {
			from++
		}
		seen = c.Keys(first, end)
		seen.Past += from
	}
	x := sequence.SelectRange[T](from, to, first, end)
	if x.Gather(c) {
		mask := e.maskOf(seen)
		for i := range x.DOut.Rows {
			if layout.IsZero(x.DOut.Row(i)) {
				if mask.Pairs.Silent == nil {
					mask.Pairs.Silent = make([]bool, x.DOut.Rows)
				}
				mask.Pairs.Silent[i] = true
			}
		}
		e.backward(x.HeadGradients, mask, c.LogSink)
	}
	x.Scatter(c)
}

// Alike compares all options except SinkWeight, TopK and Tolerance, which do not change the keys
// and values that a State keeps.
func (e exact[T]) Alike(other sequence.Kind[T]) bool {
	o, ok := other.(exact[T])
	o.SinkWeight, o.TopK, o.Tolerance = e.SinkWeight, e.TopK, e.Tolerance
	return ok && o == e
}

func (e exact[T]) NewStore(run sequence.Run[T]) (store.TokenStore[T], error) {
	scores := slices.Repeat([]tiles.Scores{e.scores(run.D)}, run.Count)
	topK := slices.Repeat([]store.TopK{{Keys: e.TopK, Tolerance: e.Tolerance}}, run.Count)
	for h, a := range run.Heads {
		x := a.(exact[T])
		scores[h].Sink, topK[h] = x.SinkWeight, store.TopK{Keys: x.TopK, Tolerance: x.Tolerance}
	}
	places := store.Places{Window: e.Window, Chunk: e.Chunk, Slope: e.Slope}
	if e.Window > 0 { // otherwise sinks change nothing
		places.Sinks = e.Sinks
	}
	keys, values := e.stateBits()
	return store.NewExact[T](store.Exact{
		KeyBits: keys, ValueBits: values, Scores: scores, Places: places, TopK: topK,
		Heads: run.Count, KeyHeads: run.KeyHeads, D: run.D, DV: run.DV,
	})
}

// ALiBiSlopes returns the slopes of ALiBi [Press et al. 2022] for H = heads attention heads:
// 2^(−8h/H) for h = 1 … H if H is a power of two. If heads is no power of two, the slopes for the
// next lower power of two come first, then every other slope for the next higher power of two.
// ALiBiSlopes panics if heads is negative or above 2²⁰.
func ALiBiSlopes(heads int) []float64 {
	if heads < 0 || heads > maxSlopes {
		panic(fmt.Sprintf("performer: heads = %d, want 0 to %d", heads, maxSlopes))
	}
	if heads == 0 {
		return nil
	}
	power := 1 << (bits.Len(uint(heads)) - 1)
	slopes := make([]float64, heads)
	for h := range slopes {
		if h < power {
			slopes[h] = math.Exp2(-8 * float64(h+1) / float64(power))
		} else {
			slopes[h] = math.Exp2(-4 * float64(2*(h-power)+1) / float64(power))
		}
	}
	return slopes
}

const maxSlopes = 1 << 20
