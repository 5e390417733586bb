package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Exact is exact softmax attention of queries q_i, keys k_j and values v_j, a [Form]:
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
}

var (
	_ Form[float32] = Exact[float32]{}
	_ Form[float64] = Exact[float64]{}
	_ Form[float32] = (*Attention[float32])(nil)
	_ Form[float64] = (*Attention[float64])(nil)
	_ Form[float32] = (*Landmarks[float32])(nil)
	_ Form[float64] = (*Landmarks[float64])(nil)
	_ Form[float32] = (*Corrected[float32])(nil)
	_ Form[float64] = (*Corrected[float64])(nil)
)

// Forward computes attention of the queries q (Lq×d) over the keys k (Lk×d) and values v (Lk×dv)
// into dst (Lq×dv), which Forward returns; a zero dst is allocated.
//
// Forward takes scores a tile at a time. Each row carries the largest score so far, and its sums
// are rescaled when that score grows [Milakov & Gimelshein 2018; Rabe & Staats 2021]. The time is
// O(Lq·Lk·(d+dv)), half of that if causal, and the memory beyond dst depends on neither Lq nor Lk.
// The bits do not depend on GOMAXPROCS, and the bits of a causal output do not depend on later
// tokens.
//
// Without keys (Lk = 0) the output is zero, normalised or not. Infinite or overflowing input may
// make all scores of a row −Inf. Such a row is 0/0 = NaN normalised and zero unnormalised. A score
// of +Inf or NaN makes a normalised row NaN. Unnormalised outputs beyond the range of T are ±Inf.
//
// dst may be exactly q where shapes allow; dst must not overlap k or v. Forward panics with the
// shapes if they do not fit; causal attention needs Lq = Lk.
func (e Exact[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	checkShapes(q, k, v, e.Causal)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	e.attend(request[T]{gradients: gradients[T]{q: q, k: k, v: v}, dst: dst, heads: 1})
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
	checkShapes(q, k, v, e.Causal)
	g := newGradients(dq, dk, dv, q, k, v, dout)
	if !g.empty() {
		tiles.Backward(e.gradients(g, e.mask(0, nil)))
	}
	return g.dq, g.dk, g.dv
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
	checkPoints(q, k, e.Causal)
	dst = dense.Ensure(dst, q.Rows, k.Rows)
	scores := e.scores(q.Cols)
	parallel.Rows(q.Rows, block, func(lo, hi int) {
		rows := dst.RowRange(lo, hi)
		tiles.Raw(scores, rows, q.RowRange(lo, hi), k)
		tiles.Cap(scores, rows)
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

// clearFuture sets the elements above the diagonal to zero.
func clearFuture[T dense.Float](m dense.Matrix[T]) {
	for i := range m.Rows {
		clear(m.Row(i)[i+1:])
	}
}

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

// mask says which keys the queries see, with past keys before the place of query 0. Keys count if
// they are valid, or all if valid is nil.
func (e Exact[T]) mask(past int, valid []bool) tiles.Mask[T] {
	return tiles.Mask[T]{Causal: e.Causal, Past: past, Valid: valid}
}

// gradients returns the gradients g of one head for package tiles.
func (e Exact[T]) gradients(g gradients[T], mask tiles.Mask[T]) tiles.Gradients[T] {
	return tiles.Gradients[T]{
		DQ: g.dq, DK: g.dk, DV: g.dv, Q: g.q, K: g.k, V: g.v, DOut: g.dout, Scores: e.scores(g.q.Cols), Mask: mask,
	}
}

func (e Exact[T]) dimension() int { return 0 }

func (e Exact[T]) shares() bool { return false }

func (e Exact[T]) attend(p request[T]) {
	var copies *rowMemory[T]
	switch {
	case p.pairs.Given():
	case e.Causal:
		p = p.trimmed()
	default:
		p.k, p.v, copies = validOnly(p.k, p.v, p.valid)
		p.valid, p.past = nil, 0
	}
	for h := range p.heads {
		e.attendHead(p.head(h))
	}
	if copies != nil {
		pool.Put(&rowMemories, copies)
	}
}

// attendHead answers a request of one head.
func (e Exact[T]) attendHead(p request[T]) {
	mask := e.mask(p.past, p.valid)
	mask.Pairs = p.pairs
	tiles.Attend(tiles.Attention[T]{Dst: p.dst, Q: p.q, K: p.k, V: p.v, Scores: e.scores(p.q.Cols), Mask: mask})
}

func (e Exact[T]) attendBackward(p request[T]) {
	if p.pairs.Given() {
		e.backwardPairs(p)
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
	if g := s.take(p, queries, keys); !g.empty() {
		tiles.Backward(e.gradients(*g, e.mask(past, s.valid)))
	}
	s.give(p, queries, keys)
	pool.Put(&selections, s)
}

// backwardPairs writes the gradients of a request with pairs, of one head. Queries whose outputs
// have the gradient zero see nothing.
func (e Exact[T]) backwardPairs(p request[T]) {
	if p.empty() {
		return
	}
	mask := e.mask(p.past, p.valid)
	mask.Pairs = p.pairs
	for i := range p.dout.Rows {
		if layout.IsZero(p.dout.Row(i)) {
			if mask.Pairs.Silent == nil {
				mask.Pairs.Silent = make([]bool, p.dout.Rows)
			}
			mask.Pairs.Silent[i] = true
		}
	}
	tiles.Backward(e.gradients(p.gradients, mask))
}
