// Package temperature makes probabilities of scores.
package temperature

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

const (
	least, most = -7, 16 // bounds of log β
	steps       = 24     // golden sections, which leave 10⁻⁵ of the range
)

// Fit returns a temperature β for the rows s_i of scores (n×classes) with the labels c_i and the
// weights ω, and the mean loss
//
//	−Σ_i ω_i·log P_i(c_i) / Σω,  P_i = softmax(β·s_i).
//
// β minimises the loss with one more row of the mean weight. Its loss is the mean of −log P_i(c)
// over all rows and classes c. So β is finite if all rows are right, as the targets of
// [Platt 1999] make it. β is between e⁻⁷ and e¹⁶. A NaN among the scores gives the loss NaN.
//
//   - [Platt 1999] J. Platt. Probabilistic outputs for support vector machines and comparisons to
//     regularized likelihood methods. Advances in Large Margin Classifiers.
func Fit(scores dense.Matrix[float64], labels []int, weights []float64) (beta, loss float64) {
	f := func(log float64) float64 {
		own, all := losses(scores, labels, weights, math.Exp(log))
		return own + all/float64(len(labels))
	}
	// The points of a golden section: a and b bound log β, and c < d are between them.
	const golden = 0.6180339887498949
	a, b := float64(least), float64(most)
	c, d := b-golden*(b-a), a+golden*(b-a)
	fc, fd := f(c), f(d)
	for range steps {
		if fc <= fd {
			b, d, fd = d, c, fc
			c = b - golden*(b-a)
			fc = f(c)
		} else {
			a, c, fc = c, d, fd
			d = a + golden*(b-a)
			fd = f(d)
		}
	}
	loss, _ = losses(scores, labels, weights, math.Exp(c))
	return math.Exp(c), loss
}

// Loss returns the mean loss at β.
func Loss(scores dense.Matrix[float64], labels []int, weights []float64, beta float64) float64 {
	own, _ := losses(scores, labels, weights, beta)
	return own
}

// losses returns the weighted mean of −log P_i(c_i), and of the means of −log P_i(c) over c.
func losses(scores dense.Matrix[float64], labels []int, weights []float64, beta float64) (own, all float64) {
	weight := 0.0
	for i, c := range labels {
		if weights[i] == 0 {
			continue
		}
		row := scores.Row(i)
		peak, mean := math.Inf(-1), 0.0
		for _, v := range row {
			peak = math.Max(peak, v)
			mean += v / float64(len(row))
		}
		total := 0.0
		for _, v := range row {
			total += math.Exp(beta * (v - peak))
		}
		own += weights[i] * (math.Log(total) - beta*(row[c]-peak))
		all += weights[i] * (math.Log(total) - beta*(mean-peak))
		weight += weights[i]
	}
	return own / weight, all / weight
}
