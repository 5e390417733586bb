package charts

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

type style struct {
	name  string
	level bool
	bare  bool // no panel has a line
	plain bool // no panel has points
	line  draw.LineStyle
	glyph draw.GlyphStyle
}

// The first colours are those of Okabe & Ito 2008, which colour-blind people can distinguish.
var palette = []color.Color{
	color.RGBA{R: 0, G: 114, B: 178, A: 255},
	color.RGBA{R: 213, G: 94, B: 0, A: 255},
	color.RGBA{R: 0, G: 158, B: 115, A: 255},
	color.RGBA{R: 204, G: 121, B: 167, A: 255},
	color.RGBA{R: 230, G: 159, B: 0, A: 255},
	color.RGBA{R: 86, G: 180, B: 233, A: 255},
	color.RGBA{R: 0, G: 0, B: 0, A: 255},
	color.RGBA{R: 117, G: 76, B: 41, A: 255},
	color.RGBA{R: 118, G: 42, B: 131, A: 255},
	color.RGBA{R: 150, G: 0, B: 30, A: 255},
	color.RGBA{R: 30, G: 30, B: 130, A: 255},
	color.RGBA{R: 140, G: 140, B: 0, A: 255},
	color.RGBA{R: 250, G: 130, B: 180, A: 255},
	color.RGBA{R: 0, G: 85, B: 40, A: 255},
}

const glyphRadius = vg.Length(3.5)

var (
	shapes = []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}, draw.SquareGlyph{}, draw.RingGlyph{},
	}
	dashes = [][]vg.Length{{6, 4}, {2, 3}, {10, 3, 2, 3}}
	grey   = color.Gray{Y: 110}
)

func (f Figure) styles() []style {
	var all []style
	known := func(level bool, name string) bool {
		return slices.ContainsFunc(all, func(s style) bool { return s.level == level && s.name == name })
	}
	for _, p := range f.Panels {
		for _, s := range p.Series {
			bare, plain := s.Line != nil && len(f.path(s.Line)) == 0, len(f.points(s.Points)) == 0
			if known(false, s.Name) {
				at := slices.IndexFunc(all, func(known style) bool { return known.name == s.Name })
				all[at].bare, all[at].plain = all[at].bare && bare, all[at].plain && plain
				continue
			}
			n := len(all)
			number, again := n%len(palette), n/len(palette)
			c, shape := palette[number], shapes[(number+again)%len(shapes)]
			var dash []vg.Length
			if again > 0 {
				dash = dashes[(again-1)%len(dashes)]
			}
			all = append(all, style{
				name:  s.Name,
				bare:  bare,
				plain: plain,
				line:  draw.LineStyle{Color: c, Width: vg.Points(1.5), Dashes: dash},
				glyph: draw.GlyphStyle{Color: c, Radius: glyphRadius, Shape: shape},
			})
		}
	}
	levels := 0
	for _, p := range f.Panels {
		for _, l := range p.Levels {
			if known(true, l.Name) {
				continue
			}
			all = append(all, style{name: l.Name, level: true, line: draw.LineStyle{
				Color: grey, Width: vg.Points(1.5), Dashes: dashes[levels%len(dashes)],
			}})
			levels++
		}
	}
	return all
}

func (s style) sample(c *draw.Canvas) {
	y := c.Center().Y
	if !s.bare {
		c.StrokeLine2(s.line, c.Min.X, y, c.Max.X, y)
	}
	if !s.level && !s.plain {
		c.DrawGlyph(s.glyph, c.Center())
	}
}

// Save draws YLabel, because gonum centres the label of a logarithmic axis at the arithmetic mean.
func (f Figure) plot(p Panel, area extent, styles []style) *plot.Plot {
	d := plot.New()
	d.X.Label.Text = f.XLabel
	d.X.Min, d.X.Max, d.Y.Min, d.Y.Max = area.x0, area.x1, area.y0, area.y1
	for _, a := range []*plot.Axis{&d.X, &d.Y} {
		a.Label.TextStyle.Font.Size = vg.Points(13)
		a.Tick.Label.Font.Size = vg.Points(11)
		a.Padding = 0
	}
	d.X.Tick.Marker, d.Y.Tick.Marker = evenTicks{}, evenTicks{}
	if f.LogX {
		d.X.Scale, d.X.Tick.Marker = plot.LogScale{}, roundTicks{}
	}
	if f.LogY {
		d.Y.Scale, d.Y.Tick.Marker = plot.LogScale{}, roundTicks{}
	}
	d.Y.Tick.Marker = clearOfEnds{d.Y.Tick.Marker, f.LogY}
	if f.XTicks != nil {
		var ticks plot.ConstantTicks
		room := panelWidth / vg.Length(max(1, len(f.XTicks)))
		for i, v := range f.XTicks {
			if !f.drawable(Point{X: v, Y: 1}) {
				continue
			}
			label := strconv.FormatFloat(v, 'g', -1, 64)
			if i < len(f.XNames) {
				if label = f.XNames[i]; d.X.Tick.Label.Width(label) > room {
					d.X.Tick.Label.Rotation, d.X.Tick.Label.XAlign = math.Pi/4, draw.XRight
				}
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
		d.X.Tick.Marker = ticks
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{Y: 225}, color.Gray{Y: 225}
	d.Add(grid)

	shared := p.sharesBars()
	for _, s := range styles {
		for _, l := range p.Levels {
			if s.level && l.Name == s.name && f.drawable(Point{X: 1, Y: l.Y}) {
				d.Add(lines{style: s, path: []Point{{X: area.x0, Y: l.Y}, {X: area.x1, Y: l.Y}}})
			}
		}
		for at, r := range p.Series {
			if !s.level && r.Name == s.name {
				points := r.Points
				if shared {
					points = f.apart(points, at, len(p.Series), area)
				}
				path := f.points(points)
				if r.Line != nil {
					path = f.path(r.Line)
				}
				shown := lines{style: s, path: path, floor: area.y0, ceiling: area.y1}
				for i, q := range points {
					if !f.drawable(q) || q.Y > area.y1 || q.Y < area.y0 && f.YRange != [2]float64{} {
						continue
					}
					label := ""
					if i < len(r.Labels) {
						label = r.Labels[i]
					}
					shown.points, shown.labels = append(shown.points, q), append(shown.labels, label)
				}
				d.Add(shown)
			}
		}
	}
	return d
}

// sharesBars reports whether error bars of two series are at the same x.
func (p Panel) sharesBars() bool {
	owner := make(map[float64]int)
	for i, s := range p.Series {
		for _, q := range s.Points {
			if !(q.Err > 0) {
				continue
			}
			if first, known := owner[q.X]; known && first != i {
				return true
			}
			owner[q.X] = i
		}
	}
	return false
}

// apart moves points sideways, so that error bars of different series at the same x do not overlap.
func (f Figure) apart(ps []Point, at, n int, area extent) []Point {
	step := min(0.012, 0.2/float64(n)) // of the width of the panel
	shift := step * (float64(at) - float64(n-1)/2)
	moved := make([]Point, len(ps))
	for i, p := range ps {
		if f.LogX {
			p.X *= math.Exp(shift * (math.Log(area.x1) - math.Log(area.x0)))
		} else {
			p.X += shift * (area.x1 - area.x0)
		}
		p.X = min(max(p.X, area.x0), area.x1)
		moved[i] = p
	}
	return moved
}

// lines draws a path, and points with error bars, or an arrow for a point below the floor.
type lines struct {
	style          style
	path           []Point
	points         []Point
	labels         []string // of the points
	floor, ceiling float64  // the ends of the y-axis
}

func (l lines) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	path := make([]vg.Point, len(l.path))
	for i, q := range l.path {
		path[i] = vg.Point{X: trX(q.X), Y: trY(q.Y)}
	}
	c.StrokeLines(l.style.line, c.ClipLinesXY(path)...)
	bar := l.style.line
	bar.Width, bar.Dashes = vg.Points(1), nil
	cap := vg.Points(3)
	text := pointText()
	text.Color = l.style.line.Color
	for i, q := range l.points {
		at := vg.Point{X: trX(q.X), Y: trY(max(q.Y, l.floor))}
		beside := at.Add(vg.Point{X: cap, Y: cap})
		if width := text.Width(l.labels[i]); beside.X+width > c.Max.X+margin/2 {
			beside.X = max(c.Min.X, at.X-cap-width)
		}
		c.FillText(text, beside, l.labels[i])
		if q.Err > 0 && q.Y+q.Err > l.floor {
			lo, hi := trY(max(q.Y-q.Err, l.floor)), trY(min(q.Y+q.Err, l.ceiling))
			c.StrokeLine2(bar, at.X, lo, at.X, hi)
			c.StrokeLine2(bar, at.X-cap, lo, at.X+cap, lo)
			c.StrokeLine2(bar, at.X-cap, hi, at.X+cap, hi)
		}
		if q.Y < l.floor {
			c.StrokeLines(bar, []vg.Point{{X: at.X, Y: at.Y + 4*cap}, at}, []vg.Point{{X: at.X - cap, Y: at.Y + cap}, at, {X: at.X + cap, Y: at.Y + cap}})
			continue
		}
		c.DrawGlyph(l.style.glyph, at)
	}
}

func pointText() draw.TextStyle {
	text := legendText()
	text.Font.Size, text.YAlign = vg.Points(10), draw.YBottom
	return text
}
