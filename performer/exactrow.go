package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// exactRow is the exact attention of one query q over the keys k_j that it sees.
type exactRow struct {
	scores   []float64 // Scale·qᵀk_j
	sums     []float64 // Scale·‖q+k_j‖²
	weights  []float64 // exp(score)/total
	logTotal float64   // log Σ exp(score)
}

// exactRow returns the exact attention of query i, in O(Lk·d) time and O(Lk) memory.
func (u *Unbiased[T]) exactRow(i int, q, k dense.Matrix[T]) exactRow {
	query := q.RowRange(i, i+1)
	if u.opts.Causal {
		k = k.RowRange(0, i+1)
	}
	products := dense.New[T](1, k.Rows)
	matmul.MulT(1, query, k, 0, products)
	o := exactRow{scores: make([]float64, k.Rows), sums: make([]float64, k.Rows), weights: make([]float64, k.Rows)}
	own := 2 * vecmath.HalfSquaredNorm(query.Row(0))
	for j, s := range products.Data {
		o.scores[j] = u.opts.Scale * float64(s)
		o.sums[j] = u.opts.Scale * (own + 2*vecmath.HalfSquaredNorm(k.Row(j)) + 2*float64(s))
	}
	copy(o.weights, o.scores)
	o.logTotal = logSoftmax(o.weights)
	return o
}

// logSoftmax replaces x by exp(x_j)/Σ exp(x_j) and returns the logarithm of the sum.
func logSoftmax(x []float64) float64 {
	peak := vecmath.Peak(x)
	vecmath.ExpMinus(x, x, peak)
	total := vecmath.Sum(x)
	vecmath.Scale(x, 1/total)
	return peak + math.Log(total)
}
