// Package platt makes probabilities of scores of classes.
package platt

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
)

// Temperature returns the β, to 10⁻³ of it, that minimises the weighted mean of −log P_i(c_i) for
// P_i = softmax(β·s_i), where s_i are the rows of scores (n×p) and c_i the labels, by Newton's
// method. The mean has one more row, of the share extra of the weights of all rows and of the mean
// of −log P_i(c) over rows and classes, so that β is finite if all rows are right [Platt 1999].
func Temperature(scores dense.Matrix[float64], labels []int, weights []float64, extra float64) float64 {
	p, beta := make([]float64, scores.Cols), 1.0
	for range 40 {
		slope, curvature := 0.0, 1e-300
		for i, c := range labels {
			row := scores.Row(i)
			Softmax(floats.ScaleTo(p, beta, row))
			mean := floats.Dot(p, row)
			for j, v := range row {
				curvature += weights[i] * (1 + extra) * p[j] * (v - mean) * (v - mean)
			}
			slope += weights[i] * (mean - row[c] + (mean-stat.Mean(row, nil))*extra)
		}
		next := min(max(beta-slope/curvature, beta/8), 8*beta, 1e6)
		if math.Abs(next-beta) < 1e-3*beta {
			return next
		}
		beta = next
	}
	return beta
}

// Softmax replaces scores by probabilities in proportion to their exponentials.
func Softmax[T dense.Float](s []T) {
	peak := math.Inf(-1)
	for _, v := range s {
		peak = math.Max(peak, float64(v))
	}
	sum := 0.0
	for j, v := range s {
		e := math.Exp(float64(v) - peak)
		s[j] = T(e)
		sum += e
	}
	for j := range s {
		s[j] = T(float64(s[j]) / sum)
	}
}
