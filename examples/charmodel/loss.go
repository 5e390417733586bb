package main

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

// crossEntropy is the mean of −log p_i over rows, in nats, where p is the softmax of a row of
// logits at its target.
type crossEntropy[T dense.Float] struct {
	probabilities buffer[T]
	losses        buffer[float64]
}

// mean returns the loss.
func (c *crossEntropy[T]) mean(logits dense.Matrix[T], targets []int) float64 {
	losses := c.losses.shape(1, logits.Rows).Data
	p := c.probabilities.shape(logits.Rows, logits.Cols)
	ranges(logits.Rows, rowGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			losses[i] = softmax(p.Row(i), logits.Row(i), 1) - float64(logits.Row(i)[targets[i]])
		}
	})
	var sum float64
	for _, l := range losses {
		sum += l
	}
	return sum / float64(logits.Rows)
}

// gradient returns the loss and the gradient with respect to n logits, which is (p − 1 at the
// target)/n.
func (c *crossEntropy[T]) gradient(logits dense.Matrix[T], targets []int) (float64, dense.Matrix[T]) {
	loss := c.mean(logits, targets)
	p := c.probabilities.shape(logits.Rows, logits.Cols)
	for i, t := range targets {
		p.Row(i)[t]--
	}
	scale(p.Data, 1/T(logits.Rows))
	return loss, p
}

// softmax sets p to the softmax of logits divided by the temperature, and returns the logarithm of
// its denominator Σ exp(logits/temperature).
func softmax[T dense.Float](p, logits []T, temperature T) float64 {
	copy(p, logits)
	scale(p, 1/temperature)
	peak := slices.Max(p)
	var sum T
	for j, v := range p {
		p[j] = T(math.Exp(float64(v - peak)))
		sum += p[j]
	}
	scale(p, 1/sum)
	return float64(peak) + math.Log(float64(sum))
}
