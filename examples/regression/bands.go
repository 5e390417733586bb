package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
)

// bandWidth is half of a band of 90 %, in standard deviations.
const bandWidth = 1.645

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
			fmt.Sprintf("%.4f", c.error), fmt.Sprintf("%.1f %%", 100*c.held), fmt.Sprintf("%.3f", bandWidth*c.median))
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
	mean, sd := o.best.Predict(o.pixels(-1))
	// Without limits, the large deviations of few pixels at the edge would make all other pixels
	// black.
	sorted := slices.Sorted(slices.Values(sd.Data))
	low, high := sorted[0], sorted[len(sorted)*98/100]
	images := []*plot.Plot{
		o.heat("photograph", o.brightness.Data, 0, 1),
		o.heat(fmt.Sprintf("mean, from %d of %d pixels", o.train, o.train+o.test), mean.Data, 0, 1),
		o.heat(fmt.Sprintf("standard deviation, %.3f … %.3f", low, high), sd.Data, low, high),
	}

	const height, width, margin = 16 * vg.Centimeter, 24 * vg.Centimeter, 3 * vg.Millimeter
	const below = height * 2 / 5 // the height of the images
	canvas := vgimg.PngCanvas{Canvas: vgimg.New(width, height)}
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	row.Draw(draw.Crop(page, margin, -margin, below+margin, -margin))
	tiles := draw.Tiles{Rows: 1, Cols: len(images), PadLeft: margin, PadRight: margin, PadBottom: margin, PadX: 2 * margin}
	for i, p := range images {
		p.Draw(tiles.At(draw.Crop(page, 0, 0, 0, below-height-margin), i, 0))
	}
	return cli.Write(path, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}

// cut draws row i of the photograph with its prediction and band.
func (o portrait) cut(i int) (*plot.Plot, error) {
	x := o.pixels(i)
	mean, sd := o.best.Predict(x)
	edge, curve, all, fitted := make(plotter.XYs, 2*x.Rows), make(plotter.XYs, x.Rows), make(plotter.XYs, x.Rows), plotter.XYs{}
	for j := range curve {
		at, m, s := float64(j), mean.At(j, 0), bandWidth*sd.At(j, 0)
		edge[j], edge[len(edge)-1-j] = plotter.XY{X: at, Y: m + s}, plotter.XY{X: at, Y: m - s}
		curve[j], all[j] = plotter.XY{X: at, Y: m}, plotter.XY{X: at, Y: o.brightness.At(i, j)}
	}
	for l := range o.chosen.X.Rows {
		if o.chosen.X.At(l, 1) == float64(i) {
			fitted = append(fitted, plotter.XY{X: o.chosen.X.At(l, 0), Y: o.chosen.Y.At(l, 0)})
		}
	}
	p := plot.New()
	kernel := fmt.Sprintf("%T", o.best.Map().Kernel())
	p.Title.Text = fmt.Sprintf("Row %d of the photograph, %s kernel", i, kernel[strings.LastIndex(kernel, ".")+1:])
	p.X.Label.Text, p.Y.Label.Text, p.Legend.Top = "column", "brightness", true
	band, err := plotter.NewPolygon(edge)
	if err != nil {
		return nil, err
	}
	band.Color, band.LineStyle.Width = color.NRGBA{R: 70, G: 130, B: 200, A: 90}, 0
	line, err := plotter.NewLine(curve)
	if err != nil {
		return nil, err
	}
	line.Color = color.NRGBA{R: 20, G: 60, B: 140, A: 255}
	p.Add(band, line)
	p.Legend.Add("band of 90 %", band)
	p.Legend.Add("mean", line)
	for _, dots := range []struct {
		name   string
		points plotter.XYs
		colour color.Color
	}{{"pixels", all, color.NRGBA{R: 120, G: 120, B: 120, A: 255}}, {"pixels of the fit", fitted, color.NRGBA{R: 200, G: 40, B: 40, A: 255}}} {
		if len(dots.points) == 0 {
			continue
		}
		scatter, err := plotter.NewScatter(dots.points)
		if err != nil {
			return nil, err
		}
		scatter.GlyphStyle = draw.GlyphStyle{Color: dots.colour, Radius: 1.5, Shape: draw.CircleGlyph{}}
		p.Add(scatter)
		p.Legend.Add(dots.name, scatter)
	}
	// Make room for the legend above the band.
	p.Y.Max += (p.Y.Max - p.Y.Min) / 3
	return p, nil
}

// heat draws a value of each pixel as a shade of grey. Values below low are black, and values above
// high are white.
func (o portrait) heat(title string, values []float64, low, high float64) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	shades := grey(64).Colors()
	m := plotter.NewHeatMap(grid{dense.Of(o.height, o.width, values)}, grey(64))
	m.Min, m.Max = low, math.Nextafter(high, math.Inf(1))
	m.Underflow, m.Overflow, m.Rasterized = shades[0], shades[len(shades)-1], true
	p.Add(m)
	p.HideAxes()
	return p
}

// grid implements plotter.GridXYZ for a matrix with row 0 at the top.
type grid struct{ dense.Matrix[float64] }

func (g grid) Dims() (c, r int)   { return g.Cols, g.Rows }
func (g grid) Z(c, r int) float64 { return g.At(g.Rows-1-r, c) }
func (g grid) X(c int) float64    { return (float64(c) + 0.5) / float64(g.Cols) }
func (g grid) Y(r int) float64    { return (float64(r) + 0.5) / float64(g.Rows) }

// grey is a palette with the given number of shades of grey.
type grey int

func (g grey) Colors() []color.Color {
	shades := make([]color.Color, g)
	for i := range shades {
		shades[i] = color.Gray{Y: uint8(i * math.MaxUint8 / (len(shades) - 1))}
	}
	return shades
}
