package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
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

// scale returns the factor of the products of d-dimensional points.
func (e Exact[T]) scale(d int) float64 {
	if e.Scale == 0 {
		return 1 / math.Sqrt(float64(d))
	}
	return e.Scale
}

// queriesOf returns how many of n queries go over the keys together. A larger number copies keys
// less often, and a smaller number gives work to more processors.
func queriesOf(n int) int {
	return min(max(n/32/block, 1), 4) * block
}

// exact is the task of computing the outputs of one head. A piece is a block of queries. Unless
// pairs are given, every query sees a key, and all keys count if the form is not causal. If pairs
// are given, they alone say which keys a query sees.
type exact[T dense.Float] struct {
	request[T]
	form Exact[T]
	rows int
}

// run computes the outputs, with a copy of e in memory that is kept for later calls.
func (e exact[T]) run() {
	e.rows = queriesOf(e.q.Rows)
	task := pool.Get[exact[T]](&exacts)
	*task = e
	parallel.Do((e.q.Rows+e.rows-1)/e.rows, task)
	*task = exact[T]{}
	pool.Put(&exacts, task)
}

func (e *exact[T]) Piece(i int) {
	lo := i * e.rows
	hi := min(lo+e.rows, e.q.Rows)
	t := pool.Get[tile[T]](&tiles)
	t.prepare(hi-lo, e.v.Cols, e.form, e.k.Cols)
	t.valid = e.valid
	if e.pairs.given {
		t.pairs, t.first = &e.pairs, lo
	}
	t.attend(e.dst.RowRange(lo, hi), e.q.RowRange(lo, hi), e.k, e.v, lo+e.past)
	t.valid, t.pairs = nil, nil
	pool.Put(&tiles, t)
}
