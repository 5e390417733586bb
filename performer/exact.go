package performer

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/instance"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/caches"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Exact is exact softmax attention of queries q_i, keys k_j and values v_j, a [Attention]:
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij,  A_ij = exp(Scale·q_iᵀk_j).
//
// The zero value is bidirectional, normalised attention with scale 1/√d. An Exact may be shared by
// goroutines. [Attend] takes biases and masks of pairs of queries and keys besides.
type Exact[T dense.Float] struct {
	// Scale multiplies the products q_iᵀk_j. Zero means 1/√d.
	Scale float64

	// Causal lets query i see the keys j ≤ i only. The numbers of queries and keys must be equal
	// then.
	Causal bool

	// Unnormalised leaves out the division by the sum of the weights: the output is A·V with A =
	// exp(Scale·QKᵀ).
	Unnormalised bool

	// Softcap replaces a score s = Scale·q_iᵀk_j by Softcap·tanh(s/Softcap), which is within
	// ±Softcap. Zero leaves scores as they are, and so does a Softcap beyond the range of T.
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

var (
	_ maskedDifferentiable[float32] = Exact[float32]{}
	_ Streaming[float32]            = Exact[float32]{}
	_ remembering[float32]          = Exact[float32]{}
	_ Described                     = Exact[float32]{}
)

// Describe returns the fields of e, of any dimension. Bidirectional attention is Rowwise, unless it
// has a Window or a Slope, which look at the place of a query.
func (e Exact[T]) Describe() Description {
	return Description{Causal: e.Causal, Unnormalised: e.Unnormalised, Rowwise: !e.Causal && !e.placed()}
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
// shapes if they do not fit; causal attention needs Lq = Lk. All methods panic for a Window
// or Sinks that is negative or beyond an eighth of what an int holds, and a Slope that is not finite.
func (e Exact[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	return instance.Of(&exactForwardBoth, Exact[T].Forward)(e, dst, q, k, v)
}

var exactForwardBoth = instance.Both{exactForward[float32], exactForward[float64]}

func exactForward[T dense.Float](e Exact[T], dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	checkShapes(q, k, v, e.Causal)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	e.attend(request[T]{dst: dst, q: q, k: k, v: v, heads: 1})
	return dst
}

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
func (e Exact[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	return instance.Of(&exactBackwardBoth, Exact[T].Backward)(e, dq, dk, dv, q, k, v, dout)
}

var exactBackwardBoth = instance.Both{exactBackward[float32], exactBackward[float64]}

func exactBackward[T dense.Float](e Exact[T], dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	checkShapes(q, k, v, e.Causal)
	g := newGradients(dq, dk, dv, q, k, v, dout)
	if !g.Empty() {
		tiles.Backward(backwardOf(e, g, maskOf(e, 0, nil)))
	}
	return g.DQ, g.DK, g.DV
}

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
func (e Exact[T]) Variances(q, k, v dense.Matrix[T]) dense.Matrix[float64] {
	return instance.Of(&exactVariancesBoth, Exact[T].Variances)(e, q, k, v)
}

var exactVariancesBoth = instance.Both{exactVariances[float32], exactVariances[float64]}

func exactVariances[T dense.Float](e Exact[T], q, k, v dense.Matrix[T]) dense.Matrix[float64] {
	checkShapes(q, k, v, e.Causal)
	squares := dense.New[float64](q.Rows, 1)
	a := tiles.Attention[T]{Q: q, K: k, V: v, Scores: e.scores(q.Cols), Mask: maskOf(e, 0, nil)}
	if e.Bits != 0 && coded.Takes(a) {
		coded.Variances(squares.Data, a)
	}
	return squares
}

// CanBackward returns nil.
func (e Exact[T]) CanBackward() error { return nil }

// Weights writes the Lq×Lk matrix of attention into dst and returns dst; a zero dst is allocated.
// Element (i, j) is A_ij = exp(Scale·q_iᵀk_j), with Softcap if there is one, divided by its sum
// over j unless unnormalised, zero for j > i if causal. [Attend] has weights of a batch.
//
// Weights takes O(Lq·Lk·d) time and bounded memory beyond dst. Scores of −Inf, +Inf and NaN count
// as in Forward. Unnormalised weights beyond the range of T are +Inf. dst must not overlap q or k.
// Weights panics with the shapes if they do not fit; causal attention needs Lq = Lk.
func (e Exact[T]) Weights(dst, q, k dense.Matrix[T]) dense.Matrix[T] {
	return instance.Of(&exactWeightsBoth, Exact[T].Weights)(e, dst, q, k)
}

var exactWeightsBoth = instance.Both{exactWeights[float32], exactWeights[float64]}

func exactWeights[T dense.Float](e Exact[T], dst, q, k dense.Matrix[T]) dense.Matrix[T] {
	checkPoints(q, k, e.Causal)
	dst = dense.Ensure(dst, q.Rows, k.Rows)
	scores, mask := e.scores(q.Cols), maskOf(e, 0, nil)
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
func (e Exact[T]) scale(d int) float64 {
	if e.Scale == 0 {
		return 1 / math.Sqrt(float64(d))
	}
	return e.Scale
}

// scores says how weights follow from products of d-dimensional points.
func (e Exact[T]) scores(d int) tiles.Scores {
	return tiles.Scores{Scale: e.scale(d), Softcap: e.Softcap, Unnormalised: e.Unnormalised}
}

// maskOf says which keys the queries see, with past keys before the place of query 0. Keys count if
// they are valid, or all if valid is nil.
func maskOf[T dense.Float](e Exact[T], past int, valid []bool) tiles.Mask[T] {
	if err := e.checkPlaces(); err != nil {
		panic(err.Error())
	}
	return tiles.Mask[T]{Causal: e.Causal, Past: past, Valid: valid, Window: e.Window, Sinks: e.Sinks, Slope: e.Slope}
}

// checkPlaces returns an error if what depends on places is out of range.
func (e Exact[T]) checkPlaces() error {
	switch {
	case e.Window < 0 || e.Window > farthest:
		return fmt.Errorf("performer: Window = %d, want 0 to %d", e.Window, farthest)
	case e.Sinks < 0 || e.Sinks > farthest:
		return fmt.Errorf("performer: Sinks = %d, want 0 to %d", e.Sinks, farthest)
	case e.Bits != 0 && e.Bits != 8 && e.Bits != 4:
		return fmt.Errorf("performer: Bits = %d, want 0, 8 or 4", e.Bits)
	case e.Slope-e.Slope != 0:
		return fmt.Errorf("performer: Slope = %v, want a finite number", e.Slope)
	}
	return nil
}

// farthest is a number of places that can be added to others.
const farthest = math.MaxInt / 8

// placed reports whether weights depend on the places of queries and keys, beyond Causal.
func (e Exact[T]) placed() bool { return e.Window != 0 || e.Slope != 0 }

// refuse returns an error if what approximates e would have to know of places or to round.
func (e Exact[T]) refuse() error {
	if e.placed() {
		return fmt.Errorf("performer: exact has Window = %d and Slope = %v, want none: only exact attention knows places", e.Window, e.Slope)
	}
	if e.Bits != 0 {
		return fmt.Errorf("performer: exact.Bits = %d, want 0: it rounds exact attention", e.Bits)
	}
	return nil
}

// backwardOf returns the gradients g of one head for package tiles.
func backwardOf[T dense.Float](e Exact[T], g sums.Gradients[T], mask tiles.Mask[T]) tiles.Gradients[T] {
	return tiles.Gradients[T]{
		DQ: g.DQ, DK: g.DK, DV: g.DV, Q: g.Q, K: g.K, V: g.V, DOut: g.DOut, Scores: e.scores(g.Q.Cols), Mask: mask,
	}
}

func (e Exact[T]) shares() bool { return false }

func (e Exact[T]) attend(p request[T]) {
	instance.Of(&attendExactBoth, Exact[T].attend)(e, p)
}

var attendExactBoth = instance.Both{attendExact[float32], attendExact[float64]}

func attendExact[T dense.Float](e Exact[T], p request[T]) {
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
		attendExactHead(e, p.head(h))
	}
	copies.Release()
}

// attendExactHead answers a request of one head.
func attendExactHead[T dense.Float](e Exact[T], p request[T]) {
	mask := maskOf(e, p.past, p.valid)
	mask.Pairs = p.pairs
	a := tiles.Attention[T]{Dst: p.dst, Q: p.q, K: p.k, V: p.v, Scores: e.scores(p.q.Cols), Mask: mask}
	if e.Bits != 0 && coded.Takes(a) {
		coded.Attend(a)
		return
	}
	tiles.Attend(a)
}

func (e Exact[T]) attendBackward(p gradientRequest[T]) {
	instance.Of(&attendExactBackwardBoth, Exact[T].attendBackward)(e, p)
}

var attendExactBackwardBoth = instance.Both{attendExactBackward[float32], attendExactBackward[float64]}

func attendExactBackward[T dense.Float](e Exact[T], p gradientRequest[T]) {
	if p.pairs.Given() || e.placed() {
		backwardMasked(e, p)
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
		tiles.Backward(backwardOf(e, *g, maskOf(e, past, s.valid)))
	}
	s.give(p, queries, keys)
	pool.Put(&selections, s)
}

// backwardMasked writes the gradients of a request of one head with pairs, or with places that
// count. Queries whose outputs have the gradient zero see nothing. Without pairs such queries, and keys
// that do not count, are left out at both ends, so that bits do not depend on how many there are.
func backwardMasked[T dense.Float](e Exact[T], p gradientRequest[T]) {
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
		mask := maskOf(e, past, valid)
		mask.Pairs = p.pairs
		for i := range g.DOut.Rows {
			if layout.IsZero(g.DOut.Row(i)) {
				if mask.Pairs.Silent == nil {
					mask.Pairs.Silent = make([]bool, g.DOut.Rows)
				}
				mask.Pairs.Silent[i] = true
			}
		}
		tiles.Backward(backwardOf(e, *g, mask))
	}
	s.give(p, s.queries, s.keys)
	pool.Put(&selections, s)
}

// NewState returns an empty [State] of one head, for queries and keys of dimension d and
// values of dimension dv. It returns an error if one of them is below 1, if a token takes
// more memory than the machine has, or if there are Bits with a Softcap or a Slope.
func (e Exact[T]) NewState(d, dv int) (*State[T], error) {
	return instance.Of(&exactNewStateBoth, Exact[T].NewState)(e, d, dv)
}

var exactNewStateBoth = instance.Both{exactNewState[float32], exactNewState[float64]}

func exactNewState[T dense.Float](e Exact[T], d, dv int) (*State[T], error) {
	return newState[T](1, 1, d, dv, []Attention[T]{e})
}

func (e Exact[T]) newMemory(heads, keyHeads, d, dv int) (streams.Memory[T], error) {
	return instance.Of(&newExactMemoryBoth, Exact[T].newMemory)(e, heads, keyHeads, d, dv)
}

var newExactMemoryBoth = instance.Both{newExactMemory[float32], newExactMemory[float64]}

func newExactMemory[T dense.Float](e Exact[T], heads, keyHeads, d, dv int) (streams.Memory[T], error) {
	if err := e.checkPlaces(); err != nil {
		return nil, err
	}
	places := streams.Places{Window: e.Window, Sinks: e.Sinks, Slope: e.Slope}
	if e.Bits != 0 {
		return memoryOf(caches.New[T](e.Bits, e.scores(d), places, heads, keyHeads, d, dv))
	}
	return memoryOf(streams.NewExact[T](e.scores(d), places, heads, keyHeads, d, dv))
}

// isExact reports whether the form is an Exact.
func isExact[T dense.Float](form Attention[T]) bool {
	switch form.(type) {
	case Exact[T], *Exact[T]:
		return true
	}
	return false
}

// exactOf returns the Exact that the form is.
func exactOf[T dense.Float](form Attention[T]) Exact[T] {
	if e, ok := form.(*Exact[T]); ok {
		return *e
	}
	return form.(Exact[T])
}
