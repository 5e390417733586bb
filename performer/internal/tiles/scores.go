package tiles

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// A score is s = Scale·qᵀk, or Softcap·tanh(s/Softcap) if Softcap is not zero. The weights are
// exp(s), over their sum plus Sink.
type Scores struct {
	Scale, Softcap float64
	Sink           float64 // at least 0
}

// Total returns the sum of the weights of a query plus Sink, both over exp(peak). sum is without
// Sink.
func (s Scores) Total(sum, peak float64) float64 {
	if s.Sink == 0 {
		return sum
	}
	if math.IsInf(peak, -1) { // no score is finite
		peak = 0
	}
	return sum + math.Exp(math.Log(s.Sink)-peak)
}

func Raw[T dense.Float](s Scores, dst, q, k dense.Matrix[T]) {
	matmul.MulT(T(s.Scale), q, k, 0, dst)
}

func Cap[T dense.Float](s Scores, scores dense.Matrix[T]) {
	if s.Softcap == 0 {
		return
	}
	memory := make([]T, scores.Cols)
	for i := range scores.Rows {
		CapRow(s, scores.Row(i), memory)
	}
}

// memory has at least the length of scores.
func CapRow[T dense.Float](s Scores, scores, memory []T) {
	softcap(scores, capIn[T](s.Softcap), memory)
}

// Weigh replaces the scores x of a query by its weights.
func Weigh[T dense.Float](s Scores, x []T) {
	peak := vecmath.Peak(x)
	if peak == T(math.Inf(-1)) {
		peak = 0
	}
	vecmath.ExpMinus(x, x, peak)
	var sum T
	for _, v := range x {
		sum += v
	}
	logscale.Divide(x, x, T(s.Total(float64(sum), float64(peak))))
}

// WeighSeen replaces the scores of the queries from query lo on by weights. The weight of a key
// that a query does not see is zero, also if another weight of the query is NaN.
func WeighSeen[T dense.Float](scores Scores, mask *Mask[T], rows dense.Matrix[T], lo int) {
	open, changes := mask.AddTo(rows, lo)
	for i := range rows.Rows {
		row := rows.Row(i)
		if !open[i] {
			clear(row)
			continue
		}
		Weigh(scores, row)
		for j, x := range row {
			if x != x && changes.At(j, i) == T(math.Inf(-1)) {
				row[j] = 0
			}
		}
	}
}
