package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// errors describes the errors of a model at held-out rows. The standard error of the root mean
// square is that of the mean square divided by twice the root.
func (d *data) errors(found *automl.Result[float64]) string {
	y, n := d.test.Y.Data, float64(d.test.Y.Rows)
	if found.Classifier != nil {
		p, loss, right, unknown := found.Classifier.Probabilities(dense.Matrix[float64]{}, d.test.X), 0.0, 0.0, 0.0
		for i, c := range y {
			if c < 0 {
				unknown++
				continue
			}
			loss -= math.Log(max(p.At(i, int(c)), math.SmallestNonzeroFloat64))
			if p.At(i, int(c)) == slices.Max(p.Row(i)) {
				right++
			}
		}
		text := fmt.Sprintf("%.1f %% of the classes right", 100*right/n)
		if loss /= n - unknown; unknown < n {
			text = fmt.Sprintf("log-loss %s, ", significant(loss, loss, 3)) + text
		}
		if unknown > 0 {
			text += fmt.Sprintf("; no row to learn from has the class of %.0f of the rows, which count as wrong and not in the log-loss", unknown)
		}
		return text
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
	return fmt.Sprintf("RMSE %s, %.1f %% in the bands of 90 %%, mean width of bands %s",
		plusMinus(rmse, deviation/math.Sqrt(n)/(2*max(rmse, math.SmallestNonzeroFloat64))), 100*inside/n, significant(width/n, width/n, 3))
}

// plusMinus writes a number and its error, which has two significant digits.
func plusMinus(v, e float64) string { return significant(v, e, 2) + " ± " + significant(e, e, 2) }

// significant writes v with the decimals that a number as large as size needs for the significant
// digits. Very large and small sizes give an exponent.
func significant(v, size float64, digits int) string {
	if !(size >= 1e-6 && size < 1e9) {
		return fmt.Sprintf("%.*g", digits+2, v)
	}
	return strconv.FormatFloat(v, 'f', max(0, digits-1-int(math.Floor(math.Log10(size)))), 64)
}
