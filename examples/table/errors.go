package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/examples/internal/table"
)

// band is the number of standard deviations between the mean and the ends of an interval of
// probability 90 % under a normal distribution.
const band = 1.645

// heldOut has the errors of a model at held-out rows.
type heldOut struct {
	rmse, err float64 // root mean square error and its standard error
	inside    float64 // share of the rows within the bands of 90 %
	width     float64 // mean width of the bands
}

// errorsTable returns the table of errors at held-out rows.
func (d *data) errorsTable(all []candidate) *table.Table {
	t := table.New(1, "model", "D", "RMSE", "in 90 % bands", "width of bands")
	row := func(name, width string, h heldOut) {
		t.Row(name, width, fmt.Sprintf("%.2f ± %.2f", h.rmse, h.err), fmt.Sprintf("%.1f %%", 100*h.inside), fmt.Sprintf("%.1f", h.width))
	}
	row("mean", "", d.ofMean())
	for i, c := range all {
		if c.model == nil {
			continue
		}
		name := c.family
		if i == best(all, byFolds) {
			name += ", served"
		}
		_, width := c.phi.Dims()
		row(name, strconv.Itoa(width), d.of(c))
	}
	return t
}

// of returns the errors of a candidate.
func (d *data) of(c candidate) heldOut {
	mean, sd := c.model.Predict(d.test.X)
	return compare(d.test.Y.Data, mean.Data, sd.Data)
}

// ofMean returns the errors of the mean and the standard deviation of the targets.
func (d *data) ofMean() heldOut {
	mean, sd := stat.MeanStdDev(d.train.Y.Data, nil)
	n := d.test.Y.Rows
	return compare(d.test.Y.Data, slices.Repeat([]float64{mean}, n), slices.Repeat([]float64{sd}, n))
}

// compare returns the errors of means and standard deviations for the targets y. The standard error
// of the root mean square is the standard error of the mean square divided by twice the root.
func compare(y, mean, sd []float64) heldOut {
	var h heldOut
	n := float64(len(y))
	squares := make([]float64, len(y))
	for i, v := range y {
		e := v - mean[i]
		squares[i] = e * e
		if math.Abs(e) <= band*sd[i] {
			h.inside++
		}
		h.width += 2 * band * sd[i]
	}
	h.inside, h.width = h.inside/n, h.width/n
	square, deviation := stat.PopMeanStdDev(squares, nil)
	h.rmse = math.Sqrt(square)
	if h.rmse > 0 {
		h.err = deviation / math.Sqrt(n) / (2 * h.rmse)
	}
	return h
}
