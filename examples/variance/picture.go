package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	width, height = 22 * vg.Centimeter, 14 * vg.Centimeter
	legendWidth   = 4.2 * vg.Centimeter
	margin        = 4 * vg.Millimeter
)

var (
	shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}}
	dashes = [][]vg.Length{nil, nil, {7, 3}, {2, 3}}
	// aside is by how much points are moved sideways, so that those of the three
	// orthogonal constructions stay apart.
	aside = []float64{1, 1, 1.05, 1 / 1.05}
)

// draw saves the picture: errors ± 2 standard errors as points, laws as lines,
// both against m on logarithmic axes, and a legend beside the diagram. Errors
// that are 0, infinite or NaN have no place on it.
func (s *study) draw(path string) error {
	p := plot.New()
	p.Title.Text = s.estimator.title + fmt.Sprintf(", d = %d", s.d)
	p.Title.TextStyle.Font.Size = vg.Points(14)
	p.Title.Padding = margin
	p.X.Label.Text = "frequencies m (points ± 2 standard errors, lines: exact law)"
	p.Y.Label.Text = "mean squared error"
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Scale = plot.LogScale{}
		a.Label.TextStyle.Font.Size = vg.Points(12)
		a.Tick.Label.Font.Size = vg.Points(11)
		a.Padding = 0
	}
	p.X.Tick.Marker = plot.ConstantTicks(s.ticks())
	p.Y.Tick.Marker = plot.TickerFunc(roundTicks)
	p.Add(plotter.NewGrid())
	legend := plot.NewLegend()
	legend.Top, legend.Left = true, true
	legend.Padding = 2 * vg.Millimeter
	legend.TextStyle.Font.Size = vg.Points(12)

	drawn := false
	for i, projection := range projections {
		entry, err := s.add(p, i)
		if err != nil {
			return err
		}
		if len(entry) > 0 {
			legend.Add(projection.name, entry...)
		}
		drawn = drawn || len(s.marks(i).XYs) > 0
	}
	if !drawn {
		return errors.New("no picture: no measured error is positive and finite")
	}
	ms := s.frequencies()
	p.X.Min, p.X.Max = float64(ms[0])/1.25, float64(ms[len(ms)-1])*1.25
	p.Y.Min, p.Y.Max = p.Y.Min/1.2, p.Y.Max*1.2

	canvas, err := draw.NewFormattedCanvas(width, height, strings.ToLower(filepath.Ext(path))[1:])
	if err != nil {
		return err
	}
	page := draw.New(canvas)
	p.Draw(draw.Crop(page, margin, -legendWidth, margin, -margin))
	legend.Draw(draw.Crop(page, width-legendWidth, 0, margin, -3*margin))
	return write(path, canvas)
}

// add draws what there is of projection i and returns its samples for the
// legend.
func (s *study) add(p *plot.Plot, i int) ([]plot.Thumbnailer, error) {
	var samples []plot.Thumbnailer
	color := projections[i].color
	if curve := s.curve(i); len(curve) > 0 {
		line, err := plotter.NewLine(curve)
		if err != nil {
			return nil, err
		}
		line.LineStyle = draw.LineStyle{Color: color, Width: vg.Points(1.2), Dashes: dashes[i]}
		p.Add(line)
		samples = append(samples, line)
	}
	marks := s.marks(i)
	if len(marks.XYs) == 0 {
		return samples, nil
	}
	points, err := plotter.NewScatter(marks.XYs)
	if err != nil {
		return nil, err
	}
	points.GlyphStyle = draw.GlyphStyle{Color: color, Radius: vg.Points(3.5), Shape: shapes[i]}
	bars, err := plotter.NewYErrorBars(marks)
	if err != nil {
		return nil, err
	}
	bars.LineStyle = draw.LineStyle{Color: color, Width: vg.Points(1)}
	p.Add(bars, points)
	return append(samples, points), nil
}

// curve returns the law of projection i at up to about 256 values of m.
func (s *study) curve(i int) plotter.XYs {
	ms := s.frequencies()
	first, last := ms[0], ms[len(ms)-1]
	var curve plotter.XYs
	for m := first; m <= last; m += 1 + (last-first)/256 {
		if v := s.law(projections[i], m); v > 0 && !math.IsInf(v, 0) {
			curve = append(curve, plotter.XY{X: float64(m), Y: v})
		}
	}
	return curve
}

// marked are points with vertical error bars.
type marked struct {
	plotter.XYs
	plotter.YErrors
}

// marks returns the measurements of projection i.
func (s *study) marks(i int) marked {
	var ps marked
	for _, c := range s.cells {
		mse, half := c.Variance.MSE, 2*c.Variance.StdErr
		if c.projection.name != projections[i].name || !(mse > 0) || math.IsInf(mse, 0) {
			continue
		}
		ps.XYs = append(ps.XYs, plotter.XY{X: float64(c.m) * aside[i], Y: mse})
		// The logarithmic axis ends before 0.
		ps.YErrors = append(ps.YErrors, struct{ Low, High float64 }{min(half, 0.9*mse), half})
	}
	return ps
}

// ticks marks the values of m that were measured.
func (s *study) ticks() []plot.Tick {
	var ticks []plot.Tick
	for _, m := range s.frequencies() {
		ticks = append(ticks, plot.Tick{Value: float64(m), Label: strconv.Itoa(m)})
	}
	return ticks
}

// roundTicks marks 1, …, 9 times powers of ten and labels 1, 2 and 5 times, or
// the powers alone on a range of more than three.
func roundTicks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	wide := hi > 1000*lo
	for e := math.Floor(math.Log10(lo)); e <= math.Log10(hi); e++ {
		for digit := 1.0; digit <= 9; digit++ {
			v := digit * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			t := plot.Tick{Value: v}
			if digit == 1 || !wide && (digit == 2 || digit == 5) {
				t.Label = strconv.FormatFloat(v, 'g', 3, 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// write saves a canvas.
func write(path string, canvas vg.CanvasWriterTo) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := canvas.WriteTo(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}
