// Package charts draws measurements with error bars, and laws as lines, with gonum/plot. A figure
// has panels on linear or logarithmic axes and one legend below them. Save writes PNG or SVG. Only
// charts and the examples import gonum/plot, so that other programs do not link it.
package charts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgimg" // png
	_ "gonum.org/v1/plot/vg/vgsvg" // svg

	"github.com/seed-feabd252/randfeat/internal/file/whole"
)

// Point is a measurement at X, with the value Y and the error bar ±Err.
type Point struct{ X, Y, Err float64 }

// Series is a set of points with a line, which runs through the points unless the field Line is
// set. Series with the same Name in several panels share one style and one entry in the legend.
type Series struct {
	Name   string
	Points []Point
	// Line, if not nil, replaces the line through Points, for example by the curve of a theory. If
	// Line is empty and not nil, Save draws no line for the Series.
	Line []Point
	// Element i of Labels, if Labels is that long, is a text beside the point Points[i].
	Labels []string
}

// Level is a horizontal line at height Y, for a reference value. The line of a Level is grey and
// dashed, in one of three patterns for each Name.
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

// Figure is a picture of one or more panels (diagrams) in rows, with common axes. Save leaves out
// points with a coordinate that is NaN, beyond ±1e307, or below 1e-307 on a logarithmic axis. A
// logarithmic y-axis without a YRange has at most eight decades, and an arrow at the lower end
// marks a point below the axis. Long texts and texts of several lines enlarge the picture.
type Figure struct {
	Title          string
	XLabel, YLabel string
	LogX, LogY     bool
	XTicks         []float64 // the labelled values of x that a point may have; nil means round numbers
	XNames         []string  // element i, if XNames is that long, is the label at XTicks[i]
	Panels         []Panel
	Columns        int  // panels in a row; 0 means all
	OwnY           bool // each panel has its own range of the y-axis

	// YRange holds the lower and the upper end of the y-axis, or zeros for the range of the points.
	// Save leaves out points outside YRange, and ends lines to such points at the edge.
	YRange [2]float64
}

const (
	panelWidth  = 11 * vg.Centimeter
	aloneWidth  = 16 * vg.Centimeter // of a single panel
	panelHeight = 9.5 * vg.Centimeter
	lineHeight  = 6 * vg.Millimeter // of the legend
	titleHeight = 1 * vg.Centimeter
	nameHeight  = 9 * vg.Millimeter // of the title of a panel
	labelWidth  = 7 * vg.Millimeter // of YLabel
	margin      = 4 * vg.Millimeter
)

// Save writes the figure to the file at path, as PNG or SVG by the ending of path. Save returns an
// error for a folder that does not exist, and where Write returns one. If Save returns an error, a
// file at path keeps its content.
func (f Figure) Save(path string) error {
	return whole.Write(path, func(w io.Writer) error {
		return f.Write(w, strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."))
	})
}

// Write writes the figure to w in a format, png or svg. Write returns an error for another format,
// a figure without panels or without a drawable point, and a YRange whose ends are not in order,
// have equal logarithms on a logarithmic axis, or could not be coordinates of a point, and the
// errors of w. SVG has the replacement character U+FFFD for bytes and characters that XML forbids.
func (f Figure) Write(w io.Writer, format string) error {
	if format != "png" && format != "svg" {
		return fmt.Errorf("charts: format %q, want png or svg", format)
	}
	if len(f.Panels) == 0 {
		return errors.New("charts: no panel to draw")
	}
	lo, hi := f.YRange[0], f.YRange[1]
	ends := lo < hi && f.drawable(Point{X: 1, Y: lo}) && f.drawable(Point{X: 1, Y: hi}) && !(f.LogY && math.Log(lo) == math.Log(hi))
	if f.YRange != [2]float64{} && !ends {
		return fmt.Errorf("charts: YRange from %v to %v, want a lower and an upper end", lo, hi)
	}
	shared, err := f.extent(f.Panels)
	if err != nil {
		return fmt.Errorf("charts: %w", err)
	}
	styles := f.styles()
	plots := make([]*plot.Plot, len(f.Panels))
	for i, p := range f.Panels {
		area := shared
		// A panel without points has the range of all panels.
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

	width, above := max(panelWidth, text.Width(f.XLabel)+2*margin), margin
	head, beside := titleHeight+moreLines(title, f.Title), margin+labelWidth+moreLines(side, f.YLabel)
	for _, p := range f.Panels {
		width = max(width, name.Width(p.Title)+2*(margin+labelWidth))
		if p.Title != "" {
			above = max(above, nameHeight+moreLines(name, p.Title))
		}
		for _, s := range p.Series {
			for _, l := range s.Labels {
				width = max(width, pointText().Width(l)+2*(margin+labelWidth))
			}
		}
	}
	width *= vg.Length(columns)
	if len(plots) == 1 {
		width = max(width, aloneWidth)
	}
	width = max(width, title.Width(f.Title)+2*margin)
	for _, s := range styles {
		width = max(width, entryWidth(s)+2*margin)
	}
	panel, left := max(panelHeight, text.Width(f.YLabel)+margin), beside
	axis, room := plots[0].X, width/vg.Length(columns)-left-2*margin
	for _, t := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
		size := axis.Tick.Label.Rectangle(t.Label).Size()
		panel = max(panel, panelHeight/2+size.Y)
		if axis.Tick.Label.Rotation != 0 { // the label ends below the tick
			left = max(left, size.X-vg.Length(axis.Norm(t.Value))*room)
		}
	}
	width += left - margin - labelWidth
	legend := newLegend(styles, width-2*margin)
	height := head + (above+panel)*vg.Length(rows) + lineHeight*vg.Length(len(legend.rows)) + 2*margin
	canvas, err := draw.NewFormattedCanvas(width, height, format)
	if err != nil {
		return fmt.Errorf("charts: %w", err)
	}
	page := draw.New(canvas)
	page.FillText(title, vg.Point{X: page.Center().X, Y: page.Max.Y - margin}, f.Title)

	bottom := legend.draw(draw.Crop(page, margin, -margin, margin, 0))
	body := draw.Crop(page, left, -margin, bottom-page.Min.Y+margin, -head)
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
	if format == "png" {
		_, err = canvas.WriteTo(w)
		return err
	}
	var file bytes.Buffer
	if _, err := canvas.WriteTo(&file); err != nil {
		return err
	}
	_, err = w.Write(bytes.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return utf8.RuneError
		}
		return r
	}, file.Bytes()))
	return err
}

func moreLines(style draw.TextStyle, text string) vg.Length {
	return style.Height(text) - style.Height("")
}

type extent struct{ x0, x1, y0, y1 float64 }

func (f Figure) extent(panels []Panel) (extent, error) {
	e := extent{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, p := range panels {
		for _, l := range p.Levels {
			if f.drawable(Point{X: 1, Y: l.Y}) {
				e.y0, e.y1 = min(e.y0, l.Y), max(e.y1, l.Y)
			}
		}
		for _, s := range p.Series {
			for _, q := range slices.Concat(f.points(s.Points), f.path(s.Line)) {
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
	const maxRatio = 1e8
	if f.LogY {
		e.y0 = max(e.y0, e.y1/maxRatio)
	}
	e.x0, e.x1 = widen(e.x0, e.x1, f.LogX)
	e.y0, e.y1 = widen(e.y0, e.y1, f.LogY)
	return e, nil
}

func widen(lo, hi float64, log bool) (float64, float64) {
	const part = 0.06
	if log {
		// A ratio of at least 1 + 1e-9 gives the ends different logarithms.
		r := max(math.Exp(part*(math.Log(hi)-math.Log(lo))), 1+1e-9)
		if hi == lo {
			r = 1.5
		}
		return max(lo/r, 0x1p-1022), min(hi*r, math.MaxFloat64)
	}
	r := part * (hi - lo)
	if hi == lo {
		r = max(1, math.Abs(hi)) / 2
	}
	return lo - r, hi + r
}

func (f Figure) points(all []Point) []Point {
	return slices.DeleteFunc(slices.Clone(all), func(p Point) bool { return !f.drawable(p) })
}

func (f Figure) path(line []Point) []Point {
	ps := slices.Clone(line)
	for i := range ps {
		ps[i].Err = 0
	}
	return f.points(ps)
}

func (f Figure) drawable(p Point) bool {
	const largest = 1e307 // so that sums and differences of the ends of an axis are finite
	for _, v := range []float64{p.X, p.Y, p.Err} {
		if !(math.Abs(v) <= largest) {
			return false
		}
	}
	return (!f.LogX || p.X >= 1/largest) && (!f.LogY || p.Y >= 1/largest)
}
