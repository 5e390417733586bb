package iterative

import (
	"context"
	"errors"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
)

// survey counts the rows and finds their means, which are summed about the first row, so that their
// size costs no digits. Without an intercept means are zeros.
func (o *passes[T]) survey(ctx context.Context, intercept bool) error {
	_, width := o.phi.Dims()
	o.Mean = make([]float64, width)
	var first []float64 // targets of the first row
	sum := dense.New[float64](width, 1)
	for b, err := range blocks(ctx, o.phi, o.rows, -1) {
		if err != nil {
			return err
		}
		o.weights = weigh(o.weights, b)
		for i, w := range o.weights {
			if w == 0 {
				continue
			}
			if o.Count == 0 {
				first = make([]float64, b.Y.Cols)
				o.Targets = make([]float64, b.Y.Cols)
				for j, v := range b.Y.Row(i) {
					first[j] = float64(v)
				}
				if intercept {
					for f, v := range o.transform(b.X.RowRange(i, i+1)).Row(0) {
						o.Mean[f] = float64(v)
					}
					o.wide.begin(sum, dense.Matrix[float64]{})
				}
			}
			o.Count++
			o.Weight += w
			o.LogWeight += math.Log(w)
			for j, v := range b.Y.Row(i) {
				o.Targets[j] += w * (float64(v) - first[j])
			}
		}
		if intercept && o.Count > 0 {
			o.wide.add(o.about(o.transform(b.X)), o.weights, func(u dense.Matrix[float64]) {
				for i, w := range o.weights {
					u.Set(i, 0, w)
				}
			})
		}
	}
	if o.Count == 0 {
		return errors.New("iterative: no rows, want at least 1 with a weight above 0")
	}
	if !intercept {
		clear(o.Targets)
		return nil
	}
	o.wide.flush()
	for f := range o.Mean {
		o.Mean[f] += sum.At(f, 0) / o.Weight
	}
	for j := range o.Targets {
		o.Targets[j] = first[j] + o.Targets[j]/o.Weight
	}
	return argument.FiniteAll("iterative: mean of feature", o.Mean)
}
