// Package charts draws measurements with error bars and laws beside them: panels on linear or
// logarithmic axes, one legend below them, as PNG, SVG or PDF. FromTable makes a figure of a
// validate.Table. Of this module's packages only this one and the examples import gonum/plot, so
// that programs that draw nothing do not link it.
package charts

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgimg" // png
	_ "gonum.org/v1/plot/vg/vgpdf" // pdf
	_ "gonum.org/v1/plot/vg/vgsvg" // svg

	"github.com/seed-feabd252/randfeat/internal/file/whole"
)

// Point is a measurement y ± Err at x.
type Point struct{ X, Y, Err float64 }

// Series is a set of points with a line through them, or with a line of its own. A name that stands
// in several panels has the same style in each and one entry in the legend.
type Series struct {
	Name   string
	Points []Point
	// Line, if not nil, is drawn in place of the line through Points: a law beside its
	// measurements. An empty Line leaves the points alone. Err is not used.
	Line []Point
	// Labels, if any, stand beside the points, Labels[i] at Points[i].
	Labels []string
}

// Level is a horizontal line, for a value to compare with. It is dashed and grey, a different dash
// for each name.
type Level struct {
	Name string
	Y    float64
}

// Panel is one diagram.
type Panel struct {
	Title  string
	Series []Series
	Levels []Level
}

// Figure is one row of panels, or several, that share their axes. All coordinates on logarithmic
// axes must be positive; other values, NaN and Inf are left out. The lower end of an error bar that
// would reach zero or less is cut at the edge of the diagram. A logarithmic y-axis has at most eight
// decades, unless YRange asks for more: an arrow at its lower end stands for a point below.
type Figure struct {
	Title          string
	XLabel, YLabel string
	LogX, LogY     bool
	XTicks         []float64 // where x has a label; nil means at round numbers
	Panels         []Panel
	Columns        int  // panels in a row; 0 means all
	OwnY           bool // each panel has a y-axis of its own range

	// YRange, unless zero, has the ends of the y-axis, positive if it is logarithmic. Points beyond
	// are left out, and lines to them end at the edge.
	YRange [2]float64
}

// formats has the endings of file names that Save understands.
var formats = []string{".png", ".svg", ".pdf"}

// CheckPath returns an error if Save could not write to path: its ending is not .png, .svg or .pdf, or
// its folder does not exist. It lets a program fail before a long computation instead of after it.
func CheckPath(path string) error {
	if ext := strings.ToLower(filepath.Ext(path)); !slices.Contains(formats, ext) {
		last := len(formats) - 1
		return fmt.Errorf("%s: a picture's name must end in %s or %s", path, strings.Join(formats[:last], ", "), formats[last])
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s: not a folder", dir)
	}
	return nil
}

const (
	panelWidth  = 11 * vg.Centimeter
	aloneWidth  = 16 * vg.Centimeter // of a panel without others
	panelHeight = 9.5 * vg.Centimeter
	lineHeight  = 6 * vg.Millimeter // of the legend
	titleHeight = 1 * vg.Centimeter
	nameHeight  = 9 * vg.Millimeter // of a panel's title
	labelWidth  = 7 * vg.Millimeter // of what y is
	margin      = 4 * vg.Millimeter
)

// Save writes the figure to a file in the format that the ending of its name tells. It is an error
// if CheckPath reports one, if there is no panel, if no point can be drawn, or if YRange does not
// have a lower and an upper end. An error leaves what was at path before.
func (f Figure) Save(path string) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	if len(f.Panels) == 0 {
		return fmt.Errorf("charts: no panel to draw in %s", path)
	}
	if lo, hi := f.YRange[0], f.YRange[1]; f.YRange != [2]float64{} && !(lo < hi && (lo > 0 || !f.LogY)) {
		return fmt.Errorf("charts: YRange from %v to %v, want a lower and an upper end", lo, hi)
	}
	shared, err := f.extent(f.Panels)
	if err != nil {
		return fmt.Errorf("charts: %s: %w", path, err)
	}
	styles := f.styles()
	plots := make([]*plot.Plot, len(f.Panels))
	for i, p := range f.Panels {
		area := shared
		// A panel without points keeps the common range.
		if own, err := f.extent(f.Panels[i : i+1]); err == nil && f.OwnY {
			area.y0, area.y1 = own.y0, own.y1
		}
		if f.YRange != [2]float64{} {
			area.y0, area.y1 = f.YRange[0], f.YRange[1]
		}
		plots[i] = f.plot(p, area, styles)
	}

	columns := f.Columns
	if columns < 1 || columns > len(plots) {
		columns = len(plots)
	}
	rows := (len(plots) + columns - 1) / columns
	text := plots[0].X.Label.TextStyle
	text.XAlign = draw.XCenter
	title, name, side := text, text, text
	title.Font.Size, title.YAlign = vg.Points(15), draw.YTop
	name.YAlign = draw.YBottom
	side.Rotation, side.YAlign = math.Pi/2, draw.YTop

	width := panelWidth * vg.Length(columns)
	if len(plots) == 1 {
		width = aloneWidth
	}
	width = max(width, title.Width(f.Title)+2*margin)
	above := nameHeight
	if !slices.ContainsFunc(f.Panels, func(p Panel) bool { return p.Title != "" }) {
		above = margin
	}
	legend := newLegend(styles, width-2*margin)
	height := titleHeight + (above+panelHeight)*vg.Length(rows) + lineHeight*vg.Length(len(legend.rows)) + 2*margin
	format := strings.ToLower(filepath.Ext(path))[1:]
	canvas, err := draw.NewFormattedCanvas(width, height, format)
	if err != nil {
		return fmt.Errorf("charts: %s: %w", path, err)
	}
	if format == "pdf" {
		canvas = outlines{canvas}
	}
	page := draw.New(canvas)
	page.FillText(title, vg.Point{X: page.Center().X, Y: page.Max.Y - margin}, f.Title)

	bottom := legend.draw(draw.Crop(page, margin, -margin, margin, 0))
	body := draw.Crop(page, margin+labelWidth, -margin, bottom-page.Min.Y+margin, -titleHeight)
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: margin}
	for i, p := range plots {
		c := draw.Crop(tiles.At(body, i%columns, i/columns), 0, 0, 0, -above)
		p.Draw(c)
		data := p.DataCanvas(c)
		page.FillText(name, vg.Point{X: data.Center().X, Y: data.Max.Y + margin/2}, f.Panels[i].Title)
		if i%columns == 0 {
			page.FillText(side, vg.Point{X: page.Min.X + margin, Y: data.Center().Y}, f.YLabel)
		}
	}
	return whole.Write(path, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}

// extent is the range of both axes.
type extent struct{ x0, x1, y0, y1 float64 }

// extent returns the range of what can be drawn of the panels, with room around it.
func (f Figure) extent(panels []Panel) (extent, error) {
	e := extent{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, p := range panels {
		for _, l := range p.Levels {
			if f.drawable(Point{X: 1, Y: l.Y}) {
				e.y0, e.y1 = min(e.y0, l.Y), max(e.y1, l.Y)
			}
		}
		for _, s := range p.Series {
			for _, q := range append(f.points(s.Points), f.path(s.Line)...) {
				e.x0, e.x1 = min(e.x0, q.X), max(e.x1, q.X)
				e.y1 = max(e.y1, q.Y+q.Err)
				e.y0 = min(e.y0, q.Y)
				if low := q.Y - q.Err; !f.LogY || low > q.Y/4 {
					e.y0 = min(e.y0, low)
				}
			}
		}
	}
	if e.x0 > e.x1 {
		return e, fmt.Errorf("no point to draw")
	}
	const mostDecades = 1e8
	if f.LogY {
		e.y0 = max(e.y0, e.y1/mostDecades)
	}
	e.x0, e.x1 = widen(e.x0, e.x1, f.LogX)
	e.y0, e.y1 = widen(e.y0, e.y1, f.LogY)
	return e, nil
}

// widen moves both ends of a range outwards by a small part of it.
func widen(lo, hi float64, log bool) (float64, float64) {
	const part = 0.06
	if log {
		r := math.Pow(hi/lo, part)
		if hi == lo {
			r = 1.5
		}
		return lo / r, hi * r
	}
	r := part * (hi - lo)
	if hi == lo {
		r = max(1, math.Abs(hi)) / 2
	}
	return lo - r, hi + r
}

// points returns the points that can be drawn.
func (f Figure) points(all []Point) []Point {
	var ps []Point
	for _, p := range all {
		if f.drawable(p) {
			ps = append(ps, p)
		}
	}
	return ps
}

// path returns the points of a line that can be drawn, without errors.
func (f Figure) path(line []Point) []Point {
	var ps []Point
	for _, p := range line {
		ps = append(ps, Point{X: p.X, Y: p.Y})
	}
	return f.points(ps)
}

func (f Figure) drawable(p Point) bool {
	for _, v := range []float64{p.X, p.Y, p.Err} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return (!f.LogX || p.X > 0) && (!f.LogY || p.Y > 0)
}
