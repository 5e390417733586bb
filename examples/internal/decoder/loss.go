package decoder

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

// crossEntropy returns the mean of −log p_i over rows, in nats, where p is the softmax of a row of
// logits at its target, and writes −log p_i to losses. With gradient it replaces the n rows of
// logits by the gradient with respect to them, (p − 1 at the target)/n.
func crossEntropy[T dense.Float](logits dense.Matrix[T], losses []float64, targets []int, gradient bool) float64 {
	ranges(logits.Rows, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := logits.Row(i)
			score := row[targets[i]]
			peak := slices.Max(row)
			for j := range row {
				row[j] -= peak
			}
			exps(row, row)
			var sum T
			for _, e := range row {
				sum += e
			}
			losses[i] = float64(peak-score) + math.Log(float64(sum))
			if gradient {
				scale := 1 / (sum * T(logits.Rows))
				for j := range row {
					row[j] *= scale
				}
				row[targets[i]] -= 1 / T(logits.Rows)
			}
		}
	})
	var sum float64
	for _, l := range losses {
		sum += l
	}
	return sum / float64(logits.Rows)
}
