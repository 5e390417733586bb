package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"math/rand/v2"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
)

const (
	resolution = 100 // points of a side of the square
	band       = 1.645
	draws      = 4
)

// save draws the mean with all places, and the cut, side by side to a PNG file.
func (h *history) save(path string, src rand.Source) error {
	const size = 12 * vg.Centimeter
	canvas := vgimg.PngCanvas{Canvas: vgimg.New(2*size, size)}
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	plane, err := h.plane()
	if err != nil {
		return err
	}
	cut, err := h.cut(src)
	if err != nil {
		return err
	}
	const margin = 3 * vg.Millimeter
	plane.Draw(draw.Crop(page, margin, -size-margin, margin, -margin))
	cut.Draw(draw.Crop(page, size+margin, -2*margin, margin, -margin))
	return cli.Write(path, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}

// values are those of the mean on a grid.
type values struct{ dense.Matrix[float64] }

func (v values) Dims() (c, r int) { return v.Cols, v.Rows }

func (v values) Z(c, r int) float64 { return v.At(r, c) }

func (v values) X(c int) float64 { return (float64(c) + 0.5) / resolution }

func (v values) Y(r int) float64 { return (float64(r) + 0.5) / resolution }

// plane draws the mean and the places of evaluation, the best one marked.
func (h *history) plane() (*plot.Plot, error) {
	x := dense.New[float64](resolution*resolution, 2)
	for i := range x.Rows {
		x.Set(i, 0, (float64(i%resolution)+0.5)/resolution)
		x.Set(i, 1, (float64(i/resolution)+0.5)/resolution)
	}
	mean := h.model.Mean(dense.Matrix[float64]{}, x)
	p := plot.New()
	p.Title.Text = fmt.Sprintf("mean after %d evaluations, and their places", h.n)
	p.X.Label.Text, p.Y.Label.Text = "u", "v"
	colours := moreland.SmoothBlueRed()
	colours.SetMin(0)
	colours.SetMax(1)
	m := plotter.NewHeatMap(values{dense.Of(resolution, resolution, mean.Data)}, colours.Palette(64))
	m.Rasterized = true
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
	p.Add(m, all, best)
	return p, nil
}

// bestPlace returns the evaluation with the largest mean.
func (h *history) bestPlace() int {
	best, value := 0, math.Inf(-1)
	for i, v := range h.model.Mean(dense.Matrix[float64]{}, h.x.RowRange(0, h.n)).Data {
		if v > value {
			best, value = i, v
		}
	}
	return best
}

// cut draws function, mean, band and draws along u through the best place.
func (h *history) cut(src rand.Source) (*plot.Plot, error) {
	v := h.x.At(h.bestPlace(), 1)
	x := dense.New[float64](2*resolution, 2)
	for i := range x.Rows {
		x.Set(i, 0, (float64(i)+0.5)/float64(x.Rows))
		x.Set(i, 1, v)
	}
	functions, err := h.model.Pathwise(h.x.RowRange(0, h.n), h.y.RowRange(0, h.n), nil, draws, 0, src)
	if err != nil {
		return nil, err
	}
	samples := functions.Eval(dense.Matrix[float64]{}, x)
	mean, sd := h.model.Posterior(x)
	p := plot.New()
	p.Title.Text = fmt.Sprintf("cut through the best place, v = %.2f", v)
	p.X.Label.Text, p.Y.Label.Text = "u", "value"
	p.Legend.Top = true
	edge := make(plotter.XYs, 2*x.Rows)
	line := func(of func(i int) float64) (*plotter.Line, error) {
		points := make(plotter.XYs, x.Rows)
		for i := range points {
			points[i] = plotter.XY{X: x.At(i, 0), Y: of(i)}
		}
		return plotter.NewLine(points)
	}
	for i := range x.Rows {
		m, s := mean.At(i, 0), band*sd.At(i, 0)
		edge[i], edge[len(edge)-1-i] = plotter.XY{X: x.At(i, 0), Y: m + s}, plotter.XY{X: x.At(i, 0), Y: m - s}
	}
	area, err := plotter.NewPolygon(edge)
	if err != nil {
		return nil, err
	}
	area.Color, area.LineStyle.Width = color.NRGBA{R: 70, G: 130, B: 200, A: 90}, 0
	p.Add(area)
	p.Legend.Add("band of 90 %", area)
	for s := range draws {
		l, err := line(func(i int) float64 { return samples.At(i, s) })
		if err != nil {
			return nil, err
		}
		l.Color, l.Width = color.NRGBA{R: 120, G: 120, B: 120, A: 255}, 0.5
		p.Add(l)
		if s == 0 {
			p.Legend.Add("draws", l)
		}
	}
	for _, c := range []struct {
		name   string
		of     func(i int) float64
		colour color.Color
	}{
		{"mean", func(i int) float64 { return mean.At(i, 0) }, color.NRGBA{R: 20, G: 60, B: 140, A: 255}},
		{"function", func(i int) float64 { return truth(x.At(i, 0), v) }, color.NRGBA{R: 200, G: 40, B: 40, A: 255}},
	} {
		l, err := line(c.of)
		if err != nil {
			return nil, err
		}
		l.Color = c.colour
		p.Add(l)
		p.Legend.Add(c.name, l)
	}
	// The legend is above the curves.
	p.Y.Max += (p.Y.Max - p.Y.Min) / 4
	return p, nil
}
