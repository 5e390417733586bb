package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

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
	parallel.Rows(q.Rows, block, func(lo, hi int) {
		rows := dst.RowRange(lo, hi)
		e.rawScores(rows, q.RowRange(lo, hi), k)
		e.cap(rows)
		for i := range rows.Rows {
			row := rows.Row(i)
			if e.Causal {
				row = row[:lo+i+1]
			}
			e.weights(row)
		}
	})
	if e.Causal {
		clearFuture(dst)
	}
	return dst
}

// rawScores writes Scale·q_iᵀk_j.
func (e Exact[T]) rawScores(dst, q, k dense.Matrix[T]) {
	matmul.MulT(T(e.scale(q.Cols)), q, k, 0, dst)
}

// cap applies Softcap to scores, if there is one.
func (e Exact[T]) cap(scores dense.Matrix[T]) {
	if e.Softcap == 0 {
		return
	}
	memory := make([]T, scores.Cols)
	for i := range scores.Rows {
		softcap(scores.Row(i), capIn[T](e.Softcap), memory)
	}
}

// weights replaces the scores of a query by weights.
func (e Exact[T]) weights(x []T) {
	if e.Unnormalised {
		vecmath.Exp(x, x)
	} else {
		softmax(x)
	}
}

// softmax replaces x by exp(x_j)/Σ exp(x_j).
func softmax[T dense.Float](x []T) {
	peak := vecmath.Peak(x)
	if peak == T(math.Inf(-1)) {
		peak = 0
	}
	vecmath.ExpMinus(x, x, peak)
	var sum T
	for _, v := range x {
		sum += v
	}
	divide(x, x, sum)
}

// clearFuture sets the elements above the diagonal to zero.
func clearFuture[T dense.Float](m dense.Matrix[T]) {
	for i := range m.Rows {
		clear(m.Row(i)[i+1:])
	}
}
