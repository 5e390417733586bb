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
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/store"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// ExactOptions selects what exact attention computes. The zero value is bidirectional, normalised
// attention with scale 1/√d.
type ExactOptions struct {
	// Scale multiplies the products q_iᵀk_j. Zero means 1/√d. Scale is finite and may be negative.
	Scale float64

	// Causal lets query i see the keys j ≤ i only. The numbers of queries and keys must be equal
	// then.
	Causal bool

	// Unnormalised leaves out the division by the sum of the weights: the output is A·V with A =
	// exp(Scale·QKᵀ).
	Unnormalised bool

	// Softcap replaces a score s = Scale·q_iᵀk_j by Softcap·tanh(s/Softcap), which is within
	// ±Softcap. Zero leaves scores as they are, and so does a Softcap beyond the range of T.
	// Softcap is not negative.
	Softcap float64

	// Window, if above zero, lets a query see the keys that are at most Window places away. The
	// time is then O(Lq·Window·(d+dv)). Key j has place j. Query i has place i, or i + Past in a
	// sequence with a Past. A causal query sees Window keys and its own key: the sliding window w of
	// Mistral and others is a Window of w − 1.
	//
	// Places count from the first key that is not padding. Padding are the first keys of a sequence
	// if they do not count, as Sequences.Valid says or the Mask and the Bias of [Attend]. Later keys
	// that do not count keep their places.
	Window int

	// Sinks is the number of first keys that all queries see in spite of the Window: the attention
	// sinks of [Xiao et al. 2024]. A causal query sees the sinks up to its own place. Sinks begin
	// after the padding.
	Sinks int

	// Chunk, if above zero, divides places into chunks of Chunk places, and lets a query see the keys
	// of its own chunk only, as in most layers of Llama 4. Places are those of Window. There are no
	// Window and no Sinks then.
	Chunk int

	// Bits, if it is 8, lets Forward compute scores, weights and values in integers of 8 bits,
	// after a random rotation of queries and keys. Forward is then about three times as fast on
	// processors that multiply such integers. Variances has the errors of its outputs, which remain
	// averages of values. Zero computes in T. The following are computed in T in any case: scores
	// with a Softcap, a Slope, or biases and masks of pairs; Weights; gradients; causal scores of
	// up to 256 keys next to a query; tiles of 256 keys of which a few, or their values, are more than
	// eight times as large as the mean; and fewer than 64 queries that see all keys, because codes of
	// the keys take longer than so few queries save.
	//
	// A [State] keeps keys and values in codes of so many bits: 4, 8 or 16. Forward computes the
	// same with 4 as with 8, and in T with 16.
	Bits int

	// KeyBits and ValueBits, if not zero, are the bits of the keys and of the values of a State
	// instead of Bits. Forward ignores them. Without Bits, both are given or neither.
	KeyBits, ValueBits int

	// Slope times the distance between the places of query and key is subtracted from a score:
	// ALiBi [Press et al. 2022]. ALiBi has a slope for each head, so that [NewBatch] takes an Exact
	// for each head.
	Slope float64

	// SinkWeight is added to the sum of the weights of each query: a key with the value zero that
	// every query sees, with the same weight. gpt-oss learns the logarithm of the SinkWeight of each
	// head; [NewBatch] takes an Exact for each head. The weights of a query then sum to less than 1.
	// SinkWeight is finite, not negative, and zero if Unnormalised.
	SinkWeight float64
}

// Exact is exact softmax attention of queries q_i, keys k_j and values v_j:
//
//	out_i = Σ_j A_ij v_j / (Σ_j A_ij + SinkWeight),  A_ij = exp(Scale·q_iᵀk_j).
//
// [NewExact] makes an Exact. Goroutines may share an Exact. Two Exacts with the same options are
// equal. [Attend] computes exact attention with biases and masks of pairs of queries and keys.
//
// # Forward
//
// Forward computes scores a tile at a time. Each query keeps its largest score so far, and its sums
// are rescaled when that score grows [Milakov & Gimelshein 2018; Rabe & Staats 2021]. The time is
// O(Lq·Lk·(d+dv)), half of that if causal. The memory beyond dst depends on neither Lq nor Lk,
// except for a copy of keys and values that are columns of wider matrices. dst may be exactly q
// where shapes allow, and must not overlap k or v.
//
// Infinite or overflowing input may make all scores of a row −Inf. Such a row is 0/0 = NaN
// normalised and zero unnormalised. A score of +Inf or NaN makes a normalised row NaN.
//
// # Backward
//
// With the weights P_ij, which are A_ij over the sum with SinkWeight, or A_ij when unnormalised, and
// the rows g_i of dout,
//
//	dv_j = Σ_i P_ij g_i,  dS_ij = P_ij·(g_i·v_j − δ_i),  δ_i = g_i·out_i or 0,
//	dq_i = Scale·Σ_j dS_ij k_j,  dk_j = Scale·Σ_i dS_ij q_i.
//
// With a Softcap the derivative 1 − tanh² of a score multiplies dS_ij in the last line.
//
// [AttendBackward] also has the gradient with respect to log SinkWeight.
//
// Backward computes P again a tile at a time [Dao et al. 2022]. The time is three to four times the
// time of Forward, and the memory beyond the gradients is three numbers a query. NaN and Inf reach
// every gradient that depends on them. In causal attention the bits of dq_i depend on rows up to i
// only. Unnormalised weights beyond the range of T make gradients ±Inf or NaN. CanBackward returns
// nil.
//
// # State
//
// NewState returns an error if d or dv is below 1, if a token takes more memory than the machine
// has.
type Exact[T dense.Float] interface {
	Differentiable[T]
	Streaming[T]
	Described // with any dimension; the queries are independent unless Causal, Window, Chunk or Slope is set

	// Options returns the options of NewExact.
	Options() ExactOptions

	// Weights writes the Lq×Lk matrix of attention into dst and returns dst; a zero dst is
	// allocated. Element (i, j) is A_ij = exp(Scale·q_iᵀk_j), with Softcap if there is one, divided
	// by its sum over j plus SinkWeight unless unnormalised. The element is zero for j > i if causal.
	// [Attend] computes weights of a batch.
	//
	// Weights takes O(Lq·Lk·d) time and bounded memory beyond dst. Scores of −Inf, +Inf and NaN
	// have the effect that they have in Forward. Unnormalised weights beyond the range of T are
	// +Inf. dst must not overlap q or k. Weights panics with the shapes if they do not fit.
	Weights(dst, q, k dense.Matrix[T]) dense.Matrix[T]

	// Variances returns for each query (Lq×1) the expected squared error ‖out_i − exact_i‖² of
	// Forward of 64 or more queries that comes from the rounding of Bits, to first order. The result
	// is zero without Bits, and for scores with a Softcap or a Slope. Rounding of queries and keys
	// with scales σ has the variance σ²/12 a coordinate, and
	//
	//	E‖out_i − exact_i‖² = Scale²·σ_i²/12·‖Σ_j p_j·(v_j − out_i)(k_j − c_j)ᵀ‖_F²
	//	  + Σ_j p_j²·(Scale²·‖q_i‖²·σ_j²/12 + r_j)·‖v_j − out_i‖² + ‖Σ_j p_j·e_j‖².
	//
	// Here p_j are the weights over their sum plus SinkWeight, and c_j is the mean of the tile t of 256 keys that
	// contains key j. The scales are the largest size of the rotated query over 126.5, σ_i, and of
	// the rotated key less c_j over 127, σ_j. A weight w, of which the largest in a tile is 255, is
	// rounded up with the probability f = w − ⌊w⌋, so that r_j = f·(1 − f)/w². If the mean of w over
	// a tile is at least 4, and the query sees all of the tile without a Window, Forward compensates
	// thresholds of rounding, and r_j = 1/(12·w²). e_j is the error of the code of value j, which is
	// known. Σ_j e_j over a tile is zero.
	//
	// The result is NaN if scores are not finite, and 0 for a query that sees no key. Variances
	// ignores Unnormalised. It takes O(Lq·Lk·d·dv) time, so q should be a sample of the queries.
	// Variances panics with the shapes if they do not fit.
	Variances(q, k, v dense.Matrix[T]) dense.Matrix[float64]
}

// NewExact returns exact attention. The error reports a Window, Sinks or a Chunk that is negative or
// beyond an eighth of what an int holds, a Chunk with a Window or Sinks, Bits other than 0, 4, 8
// and 16, one of KeyBits and ValueBits without the other and without Bits, a Scale or a Slope that
// is not finite in T, a Softcap that is negative or NaN, and a SinkWeight that is negative, not
// finite or not zero for an Unnormalised.
func NewExact[T dense.Float](o ExactOptions) (Exact[T], error) {
	if err := check[T](o); err != nil {
		return nil, err
	}
	return door.Choose[T, Exact[T]](exact32, exact64, o)
}

//go:noinline
func exact32(o any) (any, error) { return exact[float32]{o.(ExactOptions)}, nil }

//go:noinline
func exact64(o any) (any, error) { return exact[float64]{o.(ExactOptions)}, nil }

// exact is not used by pointer: heads with the same options have equal attention.
type exact[T dense.Float] struct{ ExactOptions }

var (
	_ Exact[float32]                = exact[float32]{}
	_ maskedDifferentiable[float32] = exact[float32]{}
)

func (e exact[T]) Options() ExactOptions { return e.ExactOptions }

func (e exact[T]) Describe() Description {
	d := Description{Causal: e.Causal, Unnormalised: e.Unnormalised, IndependentQueries: !e.Causal && !e.placed()}
	if e.takesBits() && d.IndependentQueries {
		d.LeastQueries = coded.LeastQueries
	}
	return d
}

func (e exact[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	checkShapes(q, k, v, e.Causal)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	e.forwardSequence(sequence.Forward[T]{Dst: dst, Q: q, K: k, V: v, Heads: 1})
	return dst
}

func (e exact[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	checkShapes(q, k, v, e.Causal)
	g := newGradients(dq, dk, dv, q, k, v, dout)
	if !g.Empty() {
		e.backward(g, e.mask(0, nil), nil)
	}
	return g.DQ, g.DK, g.DV
}

func (e exact[T]) Variances(q, k, v dense.Matrix[T]) dense.Matrix[float64] {
	checkShapes(q, k, v, e.Causal)
	squares := dense.New[float64](q.Rows, 1)
	a := tiles.Attention[T]{Q: q, K: k, V: v, Scores: e.scores(q.Cols), Mask: e.mask(0, nil)}
	if e.takesBits() && coded.Takes(a) {
		coded.Variances(squares.Data, a)
	}
	return squares
}

func (e exact[T]) CanBackward() error { return nil }

func (e exact[T]) Weights(dst, q, k dense.Matrix[T]) dense.Matrix[T] {
	checkPoints(q, k, e.Causal)
	dst = dense.Ensure(dst, q.Rows, k.Rows)
	scores, mask := e.scores(q.Cols), e.mask(0, nil)
	parallel.Rows(q.Rows, block, func(lo, hi int) {
		rows := dst.RowRange(lo, hi)
		tiles.Raw(scores, rows, q.RowRange(lo, hi), k)
		tiles.Cap(scores, rows)
		if e.placed() {
			tiles.WeighSeen(scores, &mask, rows, lo)
			return
		}
		for i := range rows.Rows {
			row := rows.Row(i)
			if e.Causal {
				row = row[:lo+i+1]
			}
			tiles.Weigh(scores, row)
		}
	})
	if e.Causal {
		clearFuture(dst)
	}
	return dst
}

// block is the number of rows that one goroutine computes at a time.
const block = 64

// scale returns the factor of the products of d-dimensional points.
func (o ExactOptions) scale(d int) float64 {
	if o.Scale == 0 {
		return 1 / math.Sqrt(float64(d))
	}
	return o.Scale
}

// scores returns how weights follow from products of d-dimensional points.
func (o ExactOptions) scores(d int) tiles.Scores {
	return tiles.Scores{Scale: o.scale(d), Softcap: o.Softcap, Unnormalised: o.Unnormalised, Sink: o.SinkWeight}
}

// mask returns which keys the queries see. The place of query 0 is past. All keys count if valid is
// nil.
func (e exact[T]) mask(past int, valid []bool) tiles.Mask[T] {
	return tiles.Mask[T]{Causal: e.Causal, Past: past, Valid: valid, Window: e.Window, Sinks: e.Sinks, Chunk: e.Chunk, Slope: e.Slope}
}

// maskOf returns which keys of a sequence the queries see. Places begin after the padding.
func (e exact[T]) maskOf(s sequence.Forward[T]) tiles.Mask[T] {
	m := e.mask(s.Past, s.Valid)
	if m.Pairs = s.Pairs; e.placed() {
		m.SkipPadding(s.K.Rows)
	}
	return m
}

// check returns an error if an option is out of range for T.
func check[T dense.Float](o ExactOptions) error {
	for _, x := range [...]frame.Word{{Name: "Bits", Value: o.Bits}, {Name: "KeyBits", Value: o.KeyBits}, {Name: "ValueBits", Value: o.ValueBits}} {
		if x.Value != 0 && !store.Takes(x.Value) {
			return fmt.Errorf("performer: %s = %d, want 0, 4, 8 or 16", x.Name, x.Value)
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
	case T(o.Slope)-T(o.Slope) != 0:
		return fmt.Errorf("performer: Slope = %v, want a finite %T", o.Slope, T(0))
	case T(o.Scale)-T(o.Scale) != 0:
		return fmt.Errorf("performer: Scale = %v, want a finite %T", o.Scale, T(0))
	case !(o.Softcap >= 0):
		return fmt.Errorf("performer: Softcap = %v, want at least 0", o.Softcap)
	case !(o.SinkWeight >= 0) || math.IsInf(o.SinkWeight, 0):
		return fmt.Errorf("performer: SinkWeight = %v, want a finite number of at least 0", o.SinkWeight)
	case o.SinkWeight != 0 && o.Unnormalised:
		return fmt.Errorf("performer: SinkWeight = %v with Unnormalised, want 0: a sink is in the sum of the weights", o.SinkWeight)
	}
	return nil
}

// stateBits returns the bits of the keys and of the values of a State, 0 for elements.
func (o ExactOptions) stateBits() (keys, values int) {
	return cmp.Or(o.KeyBits, o.Bits), cmp.Or(o.ValueBits, o.Bits)
}

// takesBits reports whether Forward may compute in integers.
func (o ExactOptions) takesBits() bool { return o.Bits != 0 && o.Bits <= 8 }

// placed reports whether weights depend on the places of queries and keys, beyond Causal.
func (o ExactOptions) placed() bool { return o.Window != 0 || o.Chunk != 0 || o.Slope != 0 }

// refuse returns an error if o has options that only exact attention has.
func (o ExactOptions) refuse() error {
	if o.Chunk != 0 {
		return fmt.Errorf("performer: exact.Chunk = %d, want 0: only exact attention knows places", o.Chunk)
	}
	if o.placed() {
		return fmt.Errorf("performer: exact has Window = %d and Slope = %v, want none: only exact attention knows places", o.Window, o.Slope)
	}
	if o.SinkWeight != 0 {
		return fmt.Errorf("performer: exact.SinkWeight = %v, want 0: only exact attention has sinks", o.SinkWeight)
	}
	if keys, values := o.stateBits(); keys != 0 || values != 0 {
		return fmt.Errorf("performer: exact.Bits = %d, want 0: it rounds exact attention", max(keys, values))
	}
	return nil
}

// backward writes the gradients g of one head. It writes the gradient with respect to log SinkWeight
// to logSink unless logSink is nil.
func (e exact[T]) backward(g sums.Gradients[T], mask tiles.Mask[T], logSink *float64) {
	tiles.Backward(tiles.Gradients[T]{
		DQ: g.DQ, DK: g.DK, DV: g.DV, Q: g.Q, K: g.K, V: g.V, DOut: g.DOut, Scores: e.scores(g.Q.Cols), Mask: mask, LogSink: logSink,
	})
}

func (e exact[T]) sharesKeys() bool { return false }

func (e exact[T]) forwardSequence(s sequence.Forward[T]) {
	var copies *layout.Tokens[T]
	switch {
	case s.Pairs.Given():
	case e.Causal:
		s = s.TrimCausal()
	case e.placed():
		s = s.KeyRange(s.Span())
	default:
		s.K, s.V, copies = layout.ValidOnly(s.K, s.V, s.Valid)
		s.Valid, s.Past = nil, 0
	}
	mask := e.maskOf(s)
	a := tiles.Attention[T]{Dst: s.Dst, Q: s.Q, K: s.K, V: s.V, Scores: e.scores(s.K.Cols), Mask: mask}
	switch {
	case s.Heads > 1:
		m := pool.Get[prefixScratch[T]](&prefixScratches)
		a.Q, a.Dst = interleaved(&m.q, s.Q, s.Heads), interleaved(&m.out, s.Dst, s.Heads)
		m.each = scratch.Resize(m.each, a.Q.Rows)
		for i := range m.each {
			m.each[i] = s.Past + i/s.Heads
		}
		a.Mask.Places = m.each
		tiles.Attend(a)
		separate(s.Dst, a.Dst, s.Heads)
		pool.Put(&prefixScratches, m)
	case e.takesBits() && (e.Causal || e.placed() || a.Q.Rows >= coded.LeastQueries) && coded.Takes(a):
		coded.Attend(a)
	default:
		tiles.Attend(a)
	}
	copies.Release()
}

func (e exact[T]) backwardSequence(s sequence.Backward[T]) {
	if s.Pairs.Given() || e.placed() {
		e.backwardMasked(s)
		return
	}
	x, past := sequence.Select(s, e.Causal), 0
	if e.Causal {
		past = x.Shift()
	}
	if x.Gather(s) {
		e.backward(x.Gradients, e.mask(past, x.ValidKeys), s.LogSink)
	}
	x.Scatter(s)
}

// backwardMasked writes the gradients of one head with Pairs, or with weights that depend on
// places. A query whose output has the gradient zero sees no key. Without Pairs such queries at
// both ends, and keys at both ends that do not count, are left out: bits do not depend on their
// number.
func (e exact[T]) backwardMasked(s sequence.Backward[T]) {
	from, to, first, end := 0, s.Q.Rows, 0, s.K.Rows
	seen := s.Forward
	if !s.Pairs.Given() {
		first, end = s.Span()
		for to > 0 && layout.IsZero(s.DOut.Row(to-1)) {
			to--
		}
		for from < to && layout.IsZero(s.DOut.Row(from)) {
			from++
		}
		seen = s.KeyRange(first, end)
		seen.Past += from
	}
	x := sequence.SelectRange[T](from, to, first, end)
	if x.Gather(s) {
		mask := e.maskOf(seen)
		for i := range x.DOut.Rows {
			if layout.IsZero(x.DOut.Row(i)) {
				if mask.Pairs.Silent == nil {
					mask.Pairs.Silent = make([]bool, x.DOut.Rows)
				}
				mask.Pairs.Silent[i] = true
			}
		}
		e.backward(x.Gradients, mask, s.LogSink)
	}
	x.Scatter(s)
}

func (e exact[T]) NewState(d, dv int) (*State[T], error) {
	return newState[T](1, 1, d, dv, []Attention[T]{e})
}

// newStore returns the tokens of heads with attentions that differ from e at most in SinkWeight, or
// of all heads if there is one attention.
func (e exact[T]) newStore(attentions []Attention[T], heads, keyHeads, d, dv int) (*store.Store[T], error) {
	scores := slices.Repeat([]tiles.Scores{e.scores(d)}, heads)
	for h, a := range attentions {
		scores[h].Sink = a.(exact[T]).SinkWeight
	}
	places := store.Places{Window: e.Window, Chunk: e.Chunk, Slope: e.Slope}
	if e.Window > 0 { // otherwise sinks change nothing
		places.Sinks = e.Sinks
	}
	if keys, values := e.stateBits(); keys != 0 {
		return store.NewCodes[T](keys, values, scores, places, heads, keyHeads, d, dv)
	}
	return store.NewElements[T](scores, places, heads, keyHeads, d, dv)
}

// ALiBiSlopes returns the slopes of [Press et al. 2022] for H = heads: 2^(−8h/H) for h = 1 … H if H
// is a power of two. For other H the slopes of the next lower power of two come first, then every
// other slope of the next higher power of two. ALiBiSlopes panics if heads is negative or above
// 2²⁰.
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
