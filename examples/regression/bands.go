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
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
)

// median returns the median of x.
func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// report prints what each kernel makes of the photograph, and what the columns are if details are
// asked for.
func (o portrait) report(w io.Writer, frequencies int, details bool) error {
	fmt.Fprintf(w, `
Brightness of a photograph, %s, %d×%d pixels: fitted to %d pixels, tested on the other %d
Bayesian ridge regression on %d features of the place, bands of 90 %%; the mean brightness has the error %.4f
`, o.name, o.width, o.height, o.train, o.test, 2*frequencies, o.spread)
	if details {
		fmt.Fprintf(w, `The length-scale (of %d), the noise and the variance of each kernel are those of the most evidence; the median
distance of pixels is %.1f

test error   root mean square of prediction − brightness, from 0 (black) to 1 (white)
within 90%%   how many test pixels are within their bands of 90 %%
band         half the median width of the bands
`, len(lengthScaleParts), o.usual)
	}
	fmt.Fprintln(w)
	t := table.New(1, "kernel", "length-scale", "log evidence", "noise", "test error", "within 90%", "band")
	for _, c := range o.choices {
		t.Row(c.kernel, fmt.Sprintf("%.1f", c.lengthScale), fmt.Sprintf("%.0f", c.evidence), fmt.Sprintf("%.4f", c.noise),
			fmt.Sprintf("%.4f", c.error), fmt.Sprintf("%.1f %%", 100*c.held), fmt.Sprintf("%.3f", band*c.median))
	}
	return t.Fprint(w)
}

// save draws a row of the photograph with its prediction and band, and below it the photograph,
// the prediction and its standard deviation, to a PNG file.
func (o portrait) save(path string) error {
	const size = 16 * vg.Centimeter
	canvas := vgimg.PngCanvas{Canvas: vgimg.New(size*3/2, size)}
	page := vgdraw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())

	top, err := o.cut(o.height / 2)
	if err != nil {
		return err
	}
	const margin = 3 * vg.Millimeter
	top.Draw(vgdraw.Crop(page, margin, -margin, size*2/5, -margin))
	mean, sd := o.best.Predict(o.pixels(-1))
	// Few pixels at the edge are far less certain than the others, which would all be black.
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
		width := page.Size().X / 3
		o.grey(part.title, part.values, part.from, part.to).Draw(vgdraw.Crop(page, vg.Length(i)*width, -vg.Length(2-i)*width, 0, -size*3/5))
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
	edge, line, dark, seen := make(plotter.XYs, 2*x.Rows), make(plotter.XYs, x.Rows), plotter.XYs{}, plotter.XYs{}
	for j := range x.Rows {
		m, s := mean.At(j, 0), band*sd.At(j, 0)
		at := float64(j)
		line[j] = plotter.XY{X: at, Y: m}
		edge[j], edge[2*x.Rows-1-j] = plotter.XY{X: at, Y: m + s}, plotter.XY{X: at, Y: m - s}
		dark = append(dark, plotter.XY{X: at, Y: o.brightness.At(i, j)})
	}
	for l := range o.chosen.X.Rows {
		if o.chosen.X.At(l, 1) == float64(i) {
			seen = append(seen, plotter.XY{X: o.chosen.X.At(l, 0), Y: o.chosen.Y.At(l, 0)})
		}
	}
	p := plot.New()
	kernel := fmt.Sprintf("%T", o.best.Map().Kernel())
	p.Title.Text = fmt.Sprintf("Row %d of the photograph, %s kernel", i, kernel[strings.LastIndex(kernel, ".")+1:])
	p.X.Label.Text, p.Y.Label.Text = "column", "brightness"
	p.Legend.Top = true
	area, err := plotter.NewPolygon(edge)
	if err != nil {
		return nil, err
	}
	area.Color, area.LineStyle.Width = color.NRGBA{R: 70, G: 130, B: 200, A: 90}, 0
	curve, err := plotter.NewLine(line)
	if err != nil {
		return nil, err
	}
	curve.Color = color.NRGBA{R: 20, G: 60, B: 140, A: 255}
	unseen, err := plotter.NewScatter(dark)
	if err != nil {
		return nil, err
	}
	unseen.GlyphStyle = vgdraw.GlyphStyle{Color: color.Gray{Y: 120}, Radius: 1.5, Shape: vgdraw.CircleGlyph{}}
	p.Add(area, curve, unseen)
	p.Legend.Add("band of 90 %", area)
	p.Legend.Add("mean", curve)
	p.Legend.Add("pixels", unseen)
	if len(seen) > 0 {
		fitted, err := plotter.NewScatter(seen)
		if err != nil {
			return nil, err
		}
		fitted.GlyphStyle = vgdraw.GlyphStyle{Color: color.NRGBA{R: 200, G: 40, B: 40, A: 255}, Radius: 1.5, Shape: vgdraw.CircleGlyph{}}
		p.Add(fitted)
		p.Legend.Add("pixels of the fit", fitted)
	}
	// The legend is above the band.
	p.Y.Max += (p.Y.Max - p.Y.Min) / 3
	return p, nil
}

// grey draws a value of all pixels in shades of grey.
func (o portrait) grey(title string, values []float64, from, to float64) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.HideAxes()
	m := plotter.NewHeatMap(shadesOf{dense.Of(o.height, o.width, values)}, grey(64))
	m.Min, m.Max = from, math.Nextafter(to, math.Inf(1))
	m.Underflow, m.Overflow, m.Rasterized = color.Black, color.White, true
	p.Add(m)
	return p
}

// shadesOf is a matrix as plotter.HeatMap takes it, the first row on top.
type shadesOf struct{ dense.Matrix[float64] }

func (s shadesOf) Dims() (c, r int) { return s.Cols, s.Rows }

func (s shadesOf) Z(c, r int) float64 { return s.At(s.Rows-1-r, c) }

func (s shadesOf) X(c int) float64 { return float64(c) }

func (s shadesOf) Y(r int) float64 { return float64(r) }

// grey is a palette of that many shades of grey.
type grey int

func (g grey) Colors() []color.Color {
	shades := make([]color.Color, g)
	for i := range shades {
		shades[i] = color.Gray{Y: uint8(i * math.MaxUint8 / (len(shades) - 1))}
	}
	return shades
}
