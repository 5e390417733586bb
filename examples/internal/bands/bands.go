// Package bands draws predictions of Gaussian processes: a mean with its band of 90 % along a line,
// and values on a grid as colours.
package bands

import (
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
)

// Width is half of a band of 90 %, in standard deviations.
const Width = 1.645

// The colours of curves and points.
var (
	Blue = color.NRGBA{R: 20, G: 60, B: 140, A: 255}
	Red  = color.NRGBA{R: 200, G: 40, B: 40, A: 255}
	Grey = color.NRGBA{R: 120, G: 120, B: 120, A: 255}
)

// Cut is a plot of values along a line.
type Cut struct {
	*plot.Plot
	places []float64
}

// NewCut returns a plot with the band of 90 % around a mean against the places on a line. mean and
// sd are columns. The legend is on top.
func NewCut(title, x, y string, places []float64, mean, sd dense.Matrix[float64]) (*Cut, error) {
	c := &Cut{plot.New(), places}
	c.Title.Text, c.X.Label.Text, c.Y.Label.Text, c.Legend.Top = title, x, y, true
	edge := make(plotter.XYs, 2*len(places))
	for i, at := range places {
		m, s := mean.At(i, 0), Width*sd.At(i, 0)
		edge[i], edge[len(edge)-1-i] = plotter.XY{X: at, Y: m + s}, plotter.XY{X: at, Y: m - s}
	}
	area, err := plotter.NewPolygon(edge)
	if err != nil {
		return nil, err
	}
	area.Color, area.LineStyle.Width = color.NRGBA{R: 70, G: 130, B: 200, A: 90}, 0
	c.Add(area)
	c.Legend.Add("band of 90 %", area)
	return c, nil
}

// Curve draws a curve through the values at the places. A curve with an empty name is not in the
// legend.
func (c *Cut) Curve(name string, colour color.Color, width vg.Length, value func(i int) float64) error {
	points := make(plotter.XYs, len(c.places))
	for i, at := range c.places {
		points[i] = plotter.XY{X: at, Y: value(i)}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = colour, width
	c.Add(line)
	if name != "" {
		c.Legend.Add(name, line)
	}
	return nil
}

// Points draws points. Without points it does not change the legend.
func (c *Cut) Points(name string, colour color.Color, points plotter.XYs) error {
	if len(points) == 0 {
		return nil
	}
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: 1.5, Shape: draw.CircleGlyph{}}
	c.Add(dots)
	c.Legend.Add(name, dots)
	return nil
}

// Heat draws a matrix as colours in the unit square, with row 0 at the bottom. Values below low
// have the first colour, and values above high the last colour.
func Heat(title string, values dense.Matrix[float64], low, high float64, colours palette.Palette) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	m := plotter.NewHeatMap(grid{values}, colours)
	all := colours.Colors()
	m.Min, m.Max = low, math.Nextafter(high, math.Inf(1))
	m.Underflow, m.Overflow, m.Rasterized = all[0], all[len(all)-1], true
	p.Add(m)
	return p
}

// grid implements plotter.GridXYZ for a matrix.
type grid struct{ dense.Matrix[float64] }

func (g grid) Dims() (c, r int)   { return g.Cols, g.Rows }
func (g grid) Z(c, r int) float64 { return g.At(r, c) }
func (g grid) X(c int) float64    { return (float64(c) + 0.5) / float64(g.Cols) }
func (g grid) Y(r int) float64    { return (float64(r) + 0.5) / float64(g.Rows) }

// Panel is a plot with its place on a page, in fractions of the width from the left and of the
// height from below.
type Panel struct {
	Plot                     *plot.Plot
	Left, Right, Bottom, Top float64
}

// Save draws panels to a PNG file.
func Save(path string, width, height vg.Length, panels ...Panel) error {
	canvas := vgimg.PngCanvas{Canvas: vgimg.New(width, height)}
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	const margin = 3 * vg.Millimeter
	for _, p := range panels {
		at := func(share float64, size vg.Length) vg.Length { return vg.Length(share) * size }
		p.Plot.Draw(draw.Crop(page, at(p.Left, width)+margin, at(p.Right-1, width)-margin, at(p.Bottom, height)+margin, at(p.Top-1, height)-margin))
	}
	return cli.Write(path, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}
