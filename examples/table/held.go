package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// errors describes the errors of a model at held-out rows. The standard error of the root mean
// square is that of the mean square divided by twice the root.
func (d *data) errors(found *automl.Result[float64]) string {
	y, n := d.test.Y.Data, float64(d.test.Y.Rows)
	if found.Classifier != nil {
		p, loss, right := found.Classifier.Probabilities(dense.Matrix[float64]{}, d.test.X), 0.0, 0.0
		for i, c := range y {
			loss -= math.Log(max(p.At(i, int(c)), math.SmallestNonzeroFloat64))
			if p.At(i, int(c)) == slices.Max(p.Row(i)) {
				right++
			}
		}
		return fmt.Sprintf("log-loss %.3f, %.1f %% of the classes right", loss/n, 100*right/n)
	}
	mean, half := found.Model.Band(d.test.X, 0.9)
	squares, inside, width := make([]float64, len(y)), 0.0, 0.0
	for i, v := range y {
		e := v - mean.Data[i]
		squares[i] = e * e
		if math.Abs(e) <= half.Data[i] {
			inside++
		}
		width += 2 * half.Data[i]
	}
	square, deviation := stat.PopMeanStdDev(squares, nil)
	rmse := math.Sqrt(square)
	return fmt.Sprintf("RMSE %.2f ± %.2f, %.1f %% in the bands of 90 %%, mean width of bands %.1f",
		rmse, deviation/math.Sqrt(n)/(2*max(rmse, math.SmallestNonzeroFloat64)), 100*inside/n, width/n)
}
