package performer

import (
	"math"
	"slices"
)

// Quality sums up relative errors, one an output: those that a [Predictor] gives.
type Quality struct {
	Median float64 // half of the outputs are no worse
	Most   float64 // nine in ten are no worse
	Worst  float64
}

// QualityOf sums up relative errors. Errors that are NaN count as the worst, +Inf.
// Without any errors all is 0.
func QualityOf(errors []float64) Quality {
	if len(errors) == 0 {
		return Quality{}
	}
	sorted := slices.Clone(errors)
	for i, e := range sorted {
		if math.IsNaN(e) {
			sorted[i] = math.Inf(1)
		}
	}
	slices.Sort(sorted)
	n := len(sorted)
	return Quality{Median: sorted[(n-1)/2], Most: sorted[(9*n-1)/10], Worst: sorted[n-1]}
}
