package performer

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/caches"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
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
	// ±Softcap. Zero leaves scores as they are, and so does a Softcap beyond the range of T. Softcap is
	// not negative.
	Softcap float64

	// Window, if above zero, lets a query see the keys that are at most Window places away, so that
	// the time is O(Lq·Window·(d+dv)). Key j has place j. Query i has place i, or i + Past in a
	// sequence with a Past. A key that does not count keeps its place. A causal query sees Window keys
	// and its own: the sliding window w of Mistral and others is a Window of w − 1.
	Window int

	// Sinks is the number of keys that all queries see in spite of the Window, the first ones: the
	// attention sinks of [Xiao et al. 2024]. A causal query sees none of them before they come. Keys
	// that [Attend] masks may be among them, but Sequences.Valid marks padding: sinks begin after
	// padding at the left.
	Sinks int

	// Bits, if it is 8, lets Forward compute scores, weights and values in integers of 8 bits, after a
	// random rotation of queries and keys: about three times as fast where processors multiply such
	// integers, with outputs that are off by about one percent (see Variances). Outputs stay averages of
	// values. Zero computes in T. Scores with a Softcap, a Slope, or biases and masks of pairs are computed
	// in T in any case, and so are Weights and gradients, and causal scores of up to 256 keys next to a query.
	//
	// A [State] keeps keys and values in codes of 8 bits or, if Bits is 4, of 4 bits. Forward computes
	// with 4 as with 8: one call gains nothing by fewer.
	Bits int

	// Slope times the distance of the places of query and key is subtracted from a score: ALiBi
	// [Press et al. 2022], which has a slope for each head. [NewBatch] takes a form for each head.
	Slope float64
}

// Exact is exact softmax attention of queries q_i, keys k_j and values v_j, an [Attention] of
// [NewExact]:
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij,  A_ij = exp(Scale·q_iᵀk_j).
//
// Goroutines may share an Exact. Two Exacts with the same options are equal. [Attend] takes biases and
// masks of pairs of queries and keys besides.
type Exact[T dense.Float] interface {
	// Options returns the options of NewExact.
	Options() ExactOptions

	// Forward computes attention of the queries q (Lq×d) over the keys k (Lk×d) and values v (Lk×dv)
	// into dst (Lq×dv), which Forward returns; a zero dst is allocated.
	//
	// Forward takes scores a tile at a time. Each row carries the largest score so far, and its sums
	// are rescaled when that score grows [Milakov & Gimelshein 2018; Rabe & Staats 2021]. The time is
	// O(Lq·Lk·(d+dv)), half of that if causal, and the memory beyond dst depends on neither Lq nor Lk,
	// but for a copy of keys and values that are columns of wider matrices.
	// The bits do not depend on GOMAXPROCS, and the bits of a causal output do not depend on later
	// tokens.
	//
	// Without keys (Lk = 0) the output is zero, normalised or not. Infinite or overflowing input may
	// make all scores of a row −Inf. Such a row is 0/0 = NaN normalised and zero unnormalised. A score
	// of +Inf or NaN makes a normalised row NaN. Unnormalised outputs beyond the range of T are ±Inf.
	//
	// dst may be exactly q where shapes allow; dst must not overlap k or v. Forward panics with the
	// shapes if they do not fit; causal attention needs Lq = Lk.
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]

	// Backward writes the gradients of L = Σ_ic dout_ic·out_ic with respect to q (Lq×d), k (Lk×d) and v
	// (Lk×dv) into dq, dk and dv, and returns these; a zero matrix is allocated. out is the result of
	// Forward. With the weights P_ij, which are A_ij over their sum, or A_ij when unnormalised, and the
	// rows g_i of dout,
	//
	//	dv_j = Σ_i P_ij g_i,  dS_ij = P_ij·(g_i·v_j − δ_i),  δ_i = g_i·out_i or 0,
	//	dq_i = Scale·Σ_j dS_ij k_j,  dk_j = Scale·Σ_i dS_ij q_i.
	//
	// With a Softcap the derivative 1 − tanh² of a score multiplies dS_ij in the last line.
	//
	// Backward forms P again a tile at a time [Dao et al. 2022]. The time is O(Lq·Lk·(d+dv)), three to
	// four times the time of Forward, and the memory beyond the gradients is three numbers a query.
	// Once that memory is there Backward allocates nothing. The bits do not depend on GOMAXPROCS.
	//
	// NaN and Inf reach every gradient that depends on them. In causal attention the bits of dq_i
	// depend on rows up to i only. Unnormalised weights beyond the range of T make gradients ±Inf or
	// NaN.
	//
	// dq, dk and dv must not overlap each other nor an input. Backward panics with the shapes if they
	// do not fit; causal attention needs Lq = Lk.
	Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T])

	// CanBackward returns nil.
	CanBackward() error

	// NewState returns an empty [State] of one head, for queries and keys of dimension d and
	// values of dimension dv. It returns an error if one of them is below 1, if a token takes
	// more memory than the machine has, or if there are Bits with a Softcap or a Slope.
	NewState(d, dv int) (*State[T], error)

	// Describe returns the options, and any dimension. Bidirectional attention is IndependentQueries, unless it
	// has a Window or a Slope, which look at the place of a query.
	Describe() Description

	// Weights writes the Lq×Lk matrix of attention into dst and returns dst; a zero dst is allocated.
	// Element (i, j) is A_ij = exp(Scale·q_iᵀk_j), with Softcap if there is one, divided by its sum
	// over j unless unnormalised, zero for j > i if causal. [Attend] has weights of a batch.
	//
	// Weights takes O(Lq·Lk·d) time and bounded memory beyond dst. Scores of −Inf, +Inf and NaN count
	// as in Forward. Unnormalised weights beyond the range of T are +Inf. dst must not overlap q or k.
	// Weights panics with the shapes if they do not fit; causal attention needs Lq = Lk.
	Weights(dst, q, k dense.Matrix[T]) dense.Matrix[T]

	// Variances returns the law of Bits: for each query (Lq×1) the expected squared error ‖out_i − exact_i‖²
	// of Forward that comes from rounding, to first order. It is zero without Bits, and for scores with a
	// Softcap or a Slope. With scales σ, a largest size of a row or column over 127, rounding has the
	// variance σ²/12, and
	//
	//	E‖out_i − exact_i‖² = Scale²·σ_i²/12·‖Σ_j p_j·(v_j − out_i)(k_j − c_j)ᵀ‖_F²
	//	  + Σ_j p_j²·(Scale²·‖q_i‖²·σ_j²/12 + r_j)·‖v_j − out_i‖² + Σ_t (Σ_{j in t} p_j²)·Σ_c σ_tc²/12
	//
	// where p_j are the weights over their sum, c_j is the mean of the tile t of 256 keys that key j is in,
	// and σ_i, σ_j and σ_tc are the scales of the rotated query and key and of column c of the values of the
	// tile. A weight w, of which the largest of a tile is 255, is rounded up with the probability f = w − ⌊w⌋, so that r_j =
	// f·(1 − f)/w².
	//
	// Where scores are not finite the result is NaN; of a query that sees no key it is 0. Variances ignores
	// Unnormalised. It takes O(Lq·Lk·d·dv) time: give it some queries. It panics with the
	// shapes if they do not fit; causal attention needs Lq = Lk.
	Variances(q, k, v dense.Matrix[T]) dense.Matrix[float64]
}

// NewExact returns exact attention. The error reports a Window or Sinks that is negative or beyond an
// eighth of what an int holds, Bits other than 0, 4 and 8, a Scale or a Slope that is not finite, and
// a Softcap that is negative or NaN.
func NewExact[T dense.Float](o ExactOptions) (Exact[T], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var e any
	switch any(*new(T)).(type) {
	case float32:
		e = exact32(o)
	case float64:
		e = exact64(o)
	}
	return e.(Exact[T]), nil
}

//go:noinline
func exact32(o ExactOptions) any { return exact[float32]{o} }

//go:noinline
func exact64(o ExactOptions) any { return exact[float64]{o} }

// exact is a value, so that attention of several heads with the same options is one.
type exact[T dense.Float] struct{ ExactOptions }

var (
	_ Exact[float32]                = exact[float32]{}
	_ maskedDifferentiable[float32] = exact[float32]{}
	_ Streaming[float32]            = exact[float32]{}
	_ remembering[float32]          = exact[float32]{}
	_ Described                     = exact[float32]{}
)

func (e exact[T]) Options() ExactOptions { return e.ExactOptions }

func (e exact[T]) Describe() Description {
	return Description{Causal: e.Causal, Unnormalised: e.Unnormalised, IndependentQueries: !e.Causal && !e.placed()}
}

func (e exact[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	checkShapes(q, k, v, e.Causal)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	e.attend(request[T]{dst: dst, q: q, k: k, v: v, heads: 1})
	return dst
}

func (e exact[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	checkShapes(q, k, v, e.Causal)
	g := newGradients(dq, dk, dv, q, k, v, dout)
	if !g.Empty() {
		e.backward(g, e.mask(0, nil))
	}
	return g.DQ, g.DK, g.DV
}

func (e exact[T]) Variances(q, k, v dense.Matrix[T]) dense.Matrix[float64] {
	checkShapes(q, k, v, e.Causal)
	squares := dense.New[float64](q.Rows, 1)
	a := tiles.Attention[T]{Q: q, K: k, V: v, Scores: e.scores(q.Cols), Mask: e.mask(0, nil)}
	if e.Bits != 0 && coded.Takes(a) {
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
			weighSeen(scores, &mask, rows, lo)
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

// block is the number of rows that is worth handing to another processor.
const block = 64

// scale returns the factor of the products of d-dimensional points.
func (o ExactOptions) scale(d int) float64 {
	if o.Scale == 0 {
		return 1 / math.Sqrt(float64(d))
	}
	return o.Scale
}

// scores says how weights follow from products of d-dimensional points.
func (o ExactOptions) scores(d int) tiles.Scores {
	return tiles.Scores{Scale: o.scale(d), Softcap: o.Softcap, Unnormalised: o.Unnormalised}
}

// mask says which keys the queries see, with past keys before the place of query 0. Keys count if
// they are valid, or all if valid is nil.
func (e exact[T]) mask(past int, valid []bool) tiles.Mask[T] {
	return tiles.Mask[T]{Causal: e.Causal, Past: past, Valid: valid, Window: e.Window, Sinks: e.Sinks, Slope: e.Slope}
}

// check returns an error if an option is out of range.
func (o ExactOptions) check() error {
	switch {
	case o.Window < 0 || o.Window > farthest:
		return fmt.Errorf("performer: Window = %d, want 0 to %d", o.Window, farthest)
	case o.Sinks < 0 || o.Sinks > farthest:
		return fmt.Errorf("performer: Sinks = %d, want 0 to %d", o.Sinks, farthest)
	case o.Bits != 0 && o.Bits != 8 && o.Bits != 4:
		return fmt.Errorf("performer: Bits = %d, want 0, 8 or 4", o.Bits)
	case o.Slope-o.Slope != 0:
		return fmt.Errorf("performer: Slope = %v, want a finite number", o.Slope)
	case o.Scale-o.Scale != 0:
		return fmt.Errorf("performer: Scale = %v, want a finite number", o.Scale)
	case !(o.Softcap >= 0):
		return fmt.Errorf("performer: Softcap = %v, want at least 0", o.Softcap)
	}
	return nil
}

// farthest is a number of places that can be added to others.
const farthest = math.MaxInt / 8

// placed reports whether weights depend on the places of queries and keys, beyond Causal.
func (o ExactOptions) placed() bool { return o.Window != 0 || o.Slope != 0 }

// refuse returns an error if what approximates o would have to know of places or to round.
func (o ExactOptions) refuse() error {
	if o.placed() {
		return fmt.Errorf("performer: exact has Window = %d and Slope = %v, want none: only exact attention knows places", o.Window, o.Slope)
	}
	if o.Bits != 0 {
		return fmt.Errorf("performer: exact.Bits = %d, want 0: it rounds exact attention", o.Bits)
	}
	return nil
}

// backward writes the gradients g of one head.
func (e exact[T]) backward(g sums.Gradients[T], mask tiles.Mask[T]) {
	tiles.Backward(tiles.Gradients[T]{
		DQ: g.DQ, DK: g.DK, DV: g.DV, Q: g.Q, K: g.K, V: g.V, DOut: g.DOut, Scores: e.scores(g.Q.Cols), Mask: mask,
	})
}

func (e exact[T]) shares() bool { return false }

func (e exact[T]) attend(p request[T]) {
	var copies *layout.Tokens[T]
	switch {
	case p.pairs.Given():
	case e.Causal:
		p = trimmed(p)
	case e.placed():
		p = cut(p)
	default:
		p.k, p.v, copies = layout.ValidOnly(p.k, p.v, p.valid)
		p.valid, p.past = nil, 0
	}
	for h := range p.heads {
		e.attendHead(p.head(h))
	}
	copies.Release()
}

// attendHead answers a request of one head.
func (e exact[T]) attendHead(p request[T]) {
	mask := e.mask(p.past, p.valid)
	mask.Pairs = p.pairs
	a := tiles.Attention[T]{Dst: p.dst, Q: p.q, K: p.k, V: p.v, Scores: e.scores(p.q.Cols), Mask: mask}
	if e.Bits != 0 && coded.Takes(a) {
		coded.Attend(a)
		return
	}
	tiles.Attend(a)
}

func (e exact[T]) attendBackward(p gradientRequest[T]) {
	if p.pairs.Given() || e.placed() {
		e.backwardMasked(p)
		return
	}
	s := pool.Get[selection[T]](&selections)
	queries, keys, all := s.selected(p, e.Causal)
	past := 0
	if !all {
		var seen int
		past, seen = overlap(queries, keys)
		queries, keys = queries[past:], keys[:seen]
	}
	if g := s.take(p, queries, keys); !g.Empty() {
		e.backward(*g, e.mask(past, s.valid))
	}
	s.give(p, queries, keys)
	pool.Put(&selections, s)
}

// backwardMasked writes the gradients of a request of one head with pairs, or with places that
// count. Queries whose outputs have the gradient zero see nothing. Without pairs such queries, and keys
// that do not count, are left out at both ends, so that bits do not depend on how many there are.
func (e exact[T]) backwardMasked(p gradientRequest[T]) {
	s := pool.Get[selection[T]](&selections)
	past, valid := p.past, p.valid
	if p.pairs.Given() {
		s.span(0, p.q.Rows, 0, p.k.Rows)
	} else {
		first, end := p.span()
		from, to := 0, p.q.Rows
		for to > 0 && layout.IsZero(p.dout.Row(to-1)) {
			to--
		}
		for from < to && layout.IsZero(p.dout.Row(from)) {
			from++
		}
		s.span(from, to, first, end)
		past, valid = p.past+from-first, p.valid[min(first, len(p.valid)):min(end, len(p.valid))]
	}
	if g := s.take(p, s.queries, s.keys); !g.Empty() {
		mask := e.mask(past, valid)
		mask.Pairs = p.pairs
		for i := range g.DOut.Rows {
			if layout.IsZero(g.DOut.Row(i)) {
				if mask.Pairs.Silent == nil {
					mask.Pairs.Silent = make([]bool, g.DOut.Rows)
				}
				mask.Pairs.Silent[i] = true
			}
		}
		e.backward(*g, mask)
	}
	s.give(p, s.queries, s.keys)
	pool.Put(&selections, s)
}

func (e exact[T]) NewState(d, dv int) (*State[T], error) {
	return newState[T](1, 1, d, dv, []Attention[T]{e})
}

func (e exact[T]) newMemory(heads, keyHeads, d, dv int) (streams.Memory[T], error) {
	places := streams.Places{Window: e.Window, Sinks: e.Sinks, Slope: e.Slope}
	if e.Bits != 0 {
		return memoryOf(caches.New[T](e.Bits, e.scores(d), places, heads, keyHeads, d, dv))
	}
	return memoryOf(streams.NewExact[T](e.scores(d), places, heads, keyHeads, d, dv))
}

// ALiBiSlopes returns the slopes of [Press et al. 2022] for so many heads: 2^(−8h/H) for h = 1 … H
// if H is a power of two. For other numbers the slopes of the power of two below come first, then
// every other slope of twice that power. ALiBiSlopes panics for a negative number.
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
