package main

import (
	"fmt"
	"image/color"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/bands"
)

const (
	resolution = 100 // number of points per side of the square
	draws      = 4
)

// save draws plane and cut side by side to a PNG file.
func (h *history) save(path string, src rand.Source) error {
	plane, err := h.plane()
	if err != nil {
		return err
	}
	cut, err := h.cut(src)
	if err != nil {
		return err
	}
	const size = 12 * vg.Centimeter
	return bands.Save(path, 2*size, size,
		bands.Panel{Plot: plane, Right: 0.5, Top: 1}, bands.Panel{Plot: cut.Plot, Left: 0.5, Right: 1, Top: 1})
}

// plane draws the mean and all evaluated points, and marks the best point.
func (h *history) plane() (*plot.Plot, error) {
	x := dense.New[float64](resolution*resolution, 2)
	for i := range x.Rows {
		x.Set(i, 0, (float64(i%resolution)+0.5)/resolution)
		x.Set(i, 1, (float64(i/resolution)+0.5)/resolution)
	}
	mean := h.model.Mean(dense.Matrix[float64]{}, x).Data
	colours := moreland.SmoothBlueRed()
	colours.SetMin(0)
	colours.SetMax(1)
	title := fmt.Sprintf("mean after %d evaluations, and their places", h.n)
	p := bands.Heat(title, dense.Of(resolution, resolution, mean), slices.Min(mean), slices.Max(mean), colours.Palette(64))
	p.X.Label.Text, p.Y.Label.Text = "u", "v"
	places := make(plotter.XYs, h.n)
	for i := range places {
		places[i] = plotter.XY{X: h.x.At(i, 0), Y: h.x.At(i, 1)}
	}
	all, err := plotter.NewScatter(places)
	if err != nil {
		return nil, err
	}
	all.GlyphStyle = draw.GlyphStyle{Color: color.Black, Radius: 2.5, Shape: draw.CircleGlyph{}}
	best, err := plotter.NewScatter(places[h.bestPlace():][:1])
	if err != nil {
		return nil, err
	}
	best.GlyphStyle = draw.GlyphStyle{Color: color.NRGBA{G: 140, A: 255}, Radius: 6, Shape: draw.CrossGlyph{}}
	p.Add(all, best)
	return p, nil
}

// bestPlace returns the index of the evaluated point with the largest mean.
func (h *history) bestPlace() int {
	return floats.MaxIdx(h.model.Mean(dense.Matrix[float64]{}, h.x.RowRange(0, h.n)).Data)
}

// cut draws the function, the mean, the band and some draws along u through the best point.
func (h *history) cut(src rand.Source) (*bands.Cut, error) {
	v := h.x.At(h.bestPlace(), 1)
	x := dense.New[float64](2*resolution, 2)
	places := make([]float64, x.Rows)
	for i := range places {
		places[i] = (float64(i) + 0.5) / float64(x.Rows)
		copy(x.Row(i), []float64{places[i], v})
	}
	functions, err := h.model.Pathwise(h.x.RowRange(0, h.n), h.y.RowRange(0, h.n), nil, draws, 0, src)
	if err != nil {
		return nil, err
	}
	samples := functions.Eval(dense.Matrix[float64]{}, x)
	mean, sd := h.model.Posterior(x)
	c, err := bands.NewCut(fmt.Sprintf("cut through the best place, v = %.2f", v), "u", "value", places, mean, sd)
	if err != nil {
		return nil, err
	}
	for s := range draws {
		name := ""
		if s == 0 {
			name = "draws"
		}
		if err := c.Curve(name, bands.Grey, 0.5, func(i int) float64 { return samples.At(i, s) }); err != nil {
			return nil, err
		}
	}
	if err := c.Curve("mean", bands.Blue, 1, func(i int) float64 { return mean.At(i, 0) }); err != nil {
		return nil, err
	}
	if err := c.Curve("function", bands.Red, 1, func(i int) float64 { return truth(places[i], v) }); err != nil {
		return nil, err
	}
	// Make room for the legend above the curves.
	c.Y.Max += (c.Y.Max - c.Y.Min) / 4
	return c, nil
}
