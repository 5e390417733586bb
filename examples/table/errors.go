package main

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
)

// band is the number of standard deviations on either side of 90 % of a normal law.
const band = 1.645

// heldOut has the errors of a model at rows that it has not seen.
type heldOut struct {
	rmse, err float64 // root mean square and its standard error
	inside    float64 // share of the rows within the bands of 90 %
	width     float64 // mean width of the bands
}

// reportErrors prints errors at the rows held out.
func (d *data) reportErrors(w io.Writer, all []*family) error {
	y := d.test.Y
	fmt.Fprintf(w, "\nAt the %d rows held out, for the best of each kind by folds. Right bands hold 90.0 ± %.1f %%:\n\n",
		y.Rows, 100*math.Sqrt(0.9*0.1/float64(y.Rows)))
	t := table.New(1, "model", "D", "RMSE", "in 90 % bands", "width of bands")
	row := func(name, width string, mean, sd dense.Matrix[float64]) {
		h := compare(y, mean, sd)
		t.Row(name, width, fmt.Sprintf("%.2f ± %.2f", h.rmse, h.err), fmt.Sprintf("%.1f %%", 100*h.inside), fmt.Sprintf("%.1f", h.width))
	}
	mean, sd := d.spread()
	row("mean", "", mean, sd)
	served, _ := first(all, byFolds)
	for _, f := range all {
		name := f.name
		if f == served {
			name += ", served"
		}
		_, width := f.maps[f.chosen].Dims()
		mean, sd = f.model.Predict(d.test.X)
		row(name, strconv.Itoa(width), mean, sd)
	}
	return t.Fprint(w)
}

// spread returns the mean and the standard deviation of the targets, for each row held out.
func (d *data) spread() (mean, sd dense.Matrix[float64]) {
	mean, sd = dense.New[float64](d.test.Y.Rows, 1), dense.New[float64](d.test.Y.Rows, 1)
	m, s := stat.MeanStdDev(d.train.Y.Data, nil)
	for i := range mean.Data {
		mean.Data[i], sd.Data[i] = m, s
	}
	return mean, sd
}

// compare returns the errors of means and standard deviations (n×1) of targets y. The standard
// error of the root mean square is that of the mean square over twice the root.
func compare(y, mean, sd dense.Matrix[float64]) heldOut {
	var h heldOut
	n := float64(y.Rows)
	squares := make([]float64, y.Rows)
	for i := range squares {
		e := y.At(i, 0) - mean.At(i, 0)
		squares[i] = e * e
		if math.Abs(e) <= band*sd.At(i, 0) {
			h.inside++
		}
		h.width += 2 * band * sd.At(i, 0)
	}
	h.inside, h.width = h.inside/n, h.width/n
	square, spread := stat.PopMeanStdDev(squares, nil)
	h.rmse = math.Sqrt(square)
	if h.rmse > 0 {
		h.err = spread / math.Sqrt(n) / (2 * h.rmse)
	}
	return h
}
