package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/performer/estimate"
)

// prediction holds the predicted and the measured errors of the outputs of one draw of frequencies.
type prediction struct {
	name                string
	predicted, measured quality
	within              float64 // share of the outputs whose error is within a factor of 2 of the prediction
}

// quality sums up relative errors: half of the outputs, and nine in ten, are no worse.
type quality struct{ median, most float64 }

// qualityOf sums up relative errors. NaN counts as the worst, +Inf. Without errors all is 0.
func qualityOf(errors []float64) quality {
	if len(errors) == 0 {
		return quality{}
	}
	sorted := slices.Clone(errors)
	for i, e := range sorted {
		if math.IsNaN(e) {
			sorted[i] = math.Inf(1)
		}
	}
	slices.Sort(sorted)
	n := len(sorted)
	return quality{median: sorted[(n-1)/2], most: sorted[(9*n-1)/10]}
}

// predictions compares predicted with measured errors, for the maps that are chosen, with one
// kind of frequencies. Points of R^1 have none.
func (c *comparison[T]) predictions(chosen selection) ([]prediction, error) {
	d := c.heads[0].q.Cols
	if d == 1 {
		return nil, nil
	}
	projection := predictedProjection(chosen)
	var all []prediction
	w, err := frequencies[T](projection, chosen.m, d, frequencySource(c.seed, projection, chosen.m))
	if err != nil {
		return nil, err
	}
	for _, name := range chosen.maps {
		f, err := features(name, w, c.scale)
		if err != nil {
			return nil, err
		}
		a, err := c.linear(f)
		if err != nil {
			return nil, err
		}
		p, err := estimate.NewPredictor(f, estimate.PredictorOptions{Causal: c.causal}, source(c.seed, "rotations"))
		if err != nil {
			return nil, err
		}
		var predicted, measured []float64
		for i, h := range c.heads {
			predicted = append(predicted, p.Predict(nil, h.q, h.k, h.v)...)
			measured = append(measured, rowErrors(a.Forward(dense.Matrix[T]{}, h.q, h.k, h.v), c.exact[i])...)
		}
		all = append(all, prediction{
			name:      name,
			predicted: qualityOf(predicted), measured: qualityOf(measured),
			within: withinTwo(measured, predicted),
		})
	}
	return all, nil
}

// predictedProjection returns the kind of frequencies for the predictions: Gram–Schmidt if it is
// chosen, and otherwise the first chosen kind.
func predictedProjection(chosen selection) string {
	if slices.Contains(chosen.projections, "gram-schmidt") {
		return "gram-schmidt"
	}
	return chosen.projections[0]
}

// rowErrors returns ‖got_i − want_i‖/‖want_i‖.
func rowErrors[T dense.Float](got, want dense.Matrix[T]) []float64 {
	e := make([]float64, got.Rows)
	for i := range e {
		e[i] = distance([]dense.Matrix[T]{got.RowRange(i, i+1)}, []dense.Matrix[T]{want.RowRange(i, i+1)})
	}
	return e
}

// withinTwo returns the share of the errors that are within a factor of 2 of the prediction, or as
// near zero as the prediction.
func withinTwo(errors, predicted []float64) float64 {
	const rounding = 1e-5
	var n float64
	for i, e := range errors {
		if p := predicted[i]; p/2 <= e && e <= 2*p || math.Max(e, p) < rounding {
			n++
		}
	}
	return n / float64(len(errors))
}

// reportPredictions prints predicted beside measured errors.
func reportPredictions(w io.Writer, chosen selection, all []prediction) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintf(w, `
Is m = %d enough? The relative error of each output, predicted without exact attention from rotated copies
of the features, beside the measured error: the median, the bound that 9 of 10 outputs keep, and the share of the
outputs whose error is within a factor of 2 of the prediction. One draw of %s frequencies:

`, chosen.m, predictedProjection(chosen))
	t := table.New(1,
		"map", "predicted", "measured", "9/10 predicted", "measured", "within 2×")
	for _, p := range all {
		t.Row(p.name, finiteNumber(p.predicted.median), finiteNumber(p.measured.median),
			finiteNumber(p.predicted.most), finiteNumber(p.measured.most), fmt.Sprintf("%.0f %%", 100*p.within))
	}
	return t.Fprint(w)
}

func finiteNumber(v float64) string { return unlessOverflow(v, number(v)) }
