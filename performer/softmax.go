package performer

import (
	"math"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/product"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
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
	var tiles sync.Pool
	parallel.Rows(q.Rows, block, func(lo, hi int) {
		t, ok := tiles.Get().(*tile[T])
		if !ok {
			t = newTile[T](v.Cols, opts)
		}
		defer tiles.Put(t)
		t.attend(dst.RowRange(lo, hi), q.RowRange(lo, hi), k, v, lo)
	})
	return dst
}

// tileKeys is the number of keys whose scores are formed together.
const tileKeys = 2 * block

// tile is the scratch memory of one goroutine: the scores of a block of
// queries for tileKeys keys, the extended values of those keys, and for each
// query its sums and its largest score so far.
type tile[T dense.Float] struct {
	opts                SoftmaxOptions
	scores, values, sum dense.Matrix[T]
	peak                [block]T
}

func newTile[T dense.Float](dv int, opts SoftmaxOptions) *tile[T] {
	width := dv + 1
	if opts.Unnormalised {
		width = dv
	}
	return &tile[T]{
		opts:   opts,
		scores: dense.New[T](block, tileKeys),
		values: dense.New[T](tileKeys, width),
		sum:    dense.New[T](block, width),
	}
}

// attend computes the outputs of a block of queries, the first of which is
// query number first.
func (t *tile[T]) attend(dst, q, k, v dense.Matrix[T], first int) {
	sum := t.sum.RowRange(0, q.Rows)
	zero(sum)
	for i := range t.peak {
		t.peak[i] = T(math.Inf(-1))
	}
	end := k.Rows
	if t.opts.Causal {
		end = first + q.Rows
	}
	for lo := 0; lo < end; lo += tileKeys {
		hi := min(lo+tileKeys, end)
		seen := hi - lo
		if t.opts.Causal {
			seen = first + 1 - lo
		}
		t.take(sum, q, k.RowRange(lo, hi), v.RowRange(lo, hi), seen)
	}
	for i := range dst.Rows {
		switch peak := float64(t.peak[i]); {
		case !t.opts.Unnormalised:
			divide(dst.Row(i), sum.Row(i))
		case math.IsInf(peak, -1):
			copy(dst.Row(i), sum.Row(i))
		default:
			applyScale(dst.Row(i), sum.Row(i), newScale(peak, 0))
		}
	}
}

// take adds a tile of keys and values to the sums of the queries. Query 0 sees
// the first seen keys of it and each query one more than the one before.
func (t *tile[T]) take(sum, q, k, v dense.Matrix[T], seen int) {
	scores := t.scores.RowRange(0, q.Rows).ColRange(0, k.Rows)
	values := extend(t.values.RowRange(0, k.Rows), v)
	product.MulT(T(t.opts.scale(q.Cols)), q, k, 0, scores)
	for i := range scores.Rows {
		t.exponentiate(i, scores.Row(i)[:clamp(seen+i, k.Rows)])
	}
	if seen >= k.Rows {
		product.Mul(1, scores, values, 1, sum)
		return
	}
	for i := range sum.Rows {
		// Hidden keys are left out rather than multiplied by zero: their values
		// may be NaN.
		addWeighted(sum.Row(i), scores.Row(i)[:clamp(seen+i, k.Rows)], values)
	}
}

// clamp returns n, or the nearer end of [0, limit] if it is outside.
func clamp(n, limit int) int { return min(max(n, 0), limit) }

// exponentiate replaces the scores s of query i by exp(s − peak), after raising
// the peak of the row to the largest finite score and rescaling its sums.
func (t *tile[T]) exponentiate(i int, s []T) {
	inf := T(math.Inf(1))
	peak := t.peak[i]
	for _, x := range s {
		if x > peak && x < inf {
			peak = x
		}
	}
	if old := t.peak[i]; peak > old {
		// Before the first finite score the sums are zero, or NaN or Inf from
		// a score that is, and stay what they are.
		if old > -inf {
			factor := T(math.Exp(float64(old - peak)))
			sum := t.sum.Row(i)
			for j := range sum {
				sum[j] *= factor
			}
		}
		t.peak[i] = peak
	}
	shift := peak
	if shift == -inf {
		shift = 0
	}
	for j := range s {
		s[j] -= shift
	}
	vecmath.Exp(s, s)
}
