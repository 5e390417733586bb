package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

// SoftmaxOptions selects what exact attention computes. The zero value is
// bidirectional, normalised attention with scale 1/√d.
type SoftmaxOptions struct {
	// Scale multiplies the products q_iᵀk_j. Zero means 1/√d.
	Scale float64

	// Causal lets query i see the keys j ≤ i only; as many queries as keys
	// are required then.
	Causal bool

	// Unnormalised leaves out the division by the sum of the weights: the
	// output is A·V with A = exp(Scale·QKᵀ).
	Unnormalised bool
}

// scale returns the factor of the products of d-dimensional points.
func (o SoftmaxOptions) scale(d int) float64 {
	if o.Scale == 0 {
		return 1 / math.Sqrt(float64(d))
	}
	return o.Scale
}

// Softmax computes exact attention of the queries q (Lq×d) over the keys k
// (Lk×d) and values v (Lk×dv) into dst (Lq×dv), which it returns; a zero dst
// is allocated:
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij,  A_ij = exp(Scale·q_iᵀk_j).
//
// Scores are formed a tile at a time and each row carries the largest score so
// far, by which its sums are rescaled when it grows [Milakov & Gimelshein
// 2018; Rabe & Staats 2021]. So it takes O(Lq·Lk·(d+dv)) time, half of that if
// causal, and memory beyond dst that does not depend on Lq or Lk. It gives the
// same bits whatever GOMAXPROCS is, and causal outputs do not depend on later
// tokens by one bit.
//
// Without keys (Lk = 0) the output is zero, normalised or not. A row whose
// scores are all −Inf, which takes infinite or overflowing input, is 0/0 = NaN
// normalised and zero unnormalised; a score of +Inf or NaN makes its row NaN
// when normalised. Unnormalised outputs beyond the range of T are ±Inf.
//
// dst may be exactly q where shapes allow; it must not overlap k or v. Softmax
// panics with the shapes if they do not fit; causal attention needs Lq = Lk.
func Softmax[T dense.Float](dst, q, k, v dense.Matrix[T], opts SoftmaxOptions) dense.Matrix[T] {
	checkShapes(q, k, v, opts.Causal)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	if v.Cols == 0 {
		return dst
	}
	if k.Rows == 0 {
		zero(dst)
		return dst
	}
	exact[T]{dst: dst, q: q, k: k, v: v, opts: opts}.run()
	return dst
}

// queriesOf returns how many of n queries go over the keys together. The more they
// are the less often keys are copied, the fewer the more processors have work.
func queriesOf(n int) int {
	return min(max(n/32/block, 1), 4) * block
}

// exact is the task of exact attention, a block of queries a piece.
type exact[T dense.Float] struct {
	dst, q, k, v dense.Matrix[T]
	opts         SoftmaxOptions
	rows         int

	// Of causal attention: query i sees the keys j ≤ i + past, those that are valid,
	// of which all are if valid is nil. There is one for every query.
	past  int
	valid []bool
}

// run computes the outputs, with a copy of e that is kept for later calls.
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
	t.prepare(hi-lo, e.v.Cols, e.opts, e.k.Cols)
	t.valid = e.valid
	t.attend(e.dst.RowRange(lo, hi), e.q.RowRange(lo, hi), e.k, e.v, lo+e.past)
	t.valid = nil
	pool.Put(&tiles, t)
}
