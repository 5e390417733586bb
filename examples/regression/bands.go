package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/bands"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
)

// report prints the result of each kernel.
func (o portrait) report(w io.Writer, frequencies int) error {
	fmt.Fprintf(w, `Brightness of a photograph, %s, %d×%d pixels: fitted to %d pixels, tested on the other %d
Bayesian ridge regression on %d features of the place, bands of 90 %%; the mean brightness has the error %.4f

test error   root mean square of prediction − brightness, from 0 (black) to 1 (white)
within 90%%   how many test pixels are within their bands of 90 %%
band         half the median width of the bands

`, o.name, o.width, o.height, o.train, o.test, 2*frequencies, o.spread)
	t := table.New(1, "kernel", "length-scale", "log evidence", "noise", "test error", "within 90%", "band")
	for _, c := range o.choices {
		t.Row(c.kernel, fmt.Sprintf("%.1f", c.lengthScale), fmt.Sprintf("%.0f", c.evidence), fmt.Sprintf("%.4f", c.noise),
			fmt.Sprintf("%.4f", c.error), fmt.Sprintf("%.1f %%", 100*c.held), fmt.Sprintf("%.3f", bands.Width*c.median))
	}
	return t.Fprint(w)
}

// save draws one row of the photograph with its prediction and band to a PNG file. Below, it draws
// the photograph, the prediction and its standard deviation.
func (o portrait) save(path string) error {
	row, err := o.cut(o.height / 2)
	if err != nil {
		return err
	}
	const half = 0.4 // share of the height for the images
	panels := []bands.Panel{{Plot: row.Plot, Right: 1, Bottom: half, Top: 1}}
	mean, sd := o.best.Predict(o.pixels(-1))
	// Without limits, the large deviations of few pixels at the edge would make all other pixels
	// black.
	sorted := slices.Sorted(slices.Values(sd.Data))
	low, high := sorted[0], sorted[len(sorted)*98/100]
	for i, part := range []struct {
		title    string
		values   []float64
		from, to float64
	}{
		{"photograph", o.brightness.Data, 0, 1},
		{fmt.Sprintf("mean, from %d of %d pixels", o.train, o.train+o.test), mean.Data, 0, 1},
		{fmt.Sprintf("standard deviation, %.3f … %.3f", low, high), sd.Data, low, high},
	} {
		upright := dense.New[float64](o.height, o.width)
		for r := range o.height {
			copy(upright.Row(o.height-1-r), part.values[r*o.width:(r+1)*o.width])
		}
		p := bands.Heat(part.title, upright, part.from, part.to, grey(64))
		p.HideAxes()
		panels = append(panels, bands.Panel{Plot: p, Left: float64(i) / 3, Right: float64(i+1) / 3, Top: half})
	}
	const size = 16 * vg.Centimeter
	return bands.Save(path, size*3/2, size, panels...)
}

// cut draws row i of the photograph with its prediction and band.
func (o portrait) cut(i int) (*bands.Cut, error) {
	x := o.pixels(i)
	mean, sd := o.best.Predict(x)
	places, all, fitted := make([]float64, x.Rows), make(plotter.XYs, x.Rows), plotter.XYs{}
	for j := range places {
		places[j], all[j] = float64(j), plotter.XY{X: float64(j), Y: o.brightness.At(i, j)}
	}
	for l := range o.chosen.X.Rows {
		if o.chosen.X.At(l, 1) == float64(i) {
			fitted = append(fitted, plotter.XY{X: o.chosen.X.At(l, 0), Y: o.chosen.Y.At(l, 0)})
		}
	}
	kernel := fmt.Sprintf("%T", o.best.Map().Kernel())
	title := fmt.Sprintf("Row %d of the photograph, %s kernel", i, kernel[strings.LastIndex(kernel, ".")+1:])
	c, err := bands.NewCut(title, "column", "brightness", places, mean, sd)
	if err != nil {
		return nil, err
	}
	if err := c.Curve("mean", bands.Blue, 1, func(j int) float64 { return mean.At(j, 0) }); err != nil {
		return nil, err
	}
	if err := c.Points("pixels", bands.Grey, all); err != nil {
		return nil, err
	}
	if err := c.Points("pixels of the fit", bands.Red, fitted); err != nil {
		return nil, err
	}
	// Make room for the legend above the band.
	c.Y.Max += (c.Y.Max - c.Y.Min) / 3
	return c, nil
}

// grey is a palette with the given number of shades of grey.
type grey int

func (g grey) Colors() []color.Color {
	shades := make([]color.Color, g)
	for i := range shades {
		shades[i] = color.Gray{Y: uint8(i * math.MaxUint8 / (len(shades) - 1))}
	}
	return shades
}
