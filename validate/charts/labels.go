package charts

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labels draws the texts beside the points of a panel. A text stands at a corner of its point where
// it covers no other text and, if there is such a corner, no point. A text without a free corner is
// left out.
type labels struct {
	texts  []text
	points []Point // all points of the panel
}

// text stands beside a point.
type text struct {
	at    Point
	words string
	color color.Color
}

// Plot implements plot.Plotter.
func (l *labels) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	place := func(q Point) vg.Point { return vg.Point{X: trX(q.X), Y: trY(q.Y)} }
	var points, words []vg.Rectangle
	for _, q := range l.points {
		at := place(q)
		points = append(points, vg.Rectangle{
			Min: at.Sub(vg.Point{X: glyphRadius, Y: glyphRadius}),
			Max: at.Add(vg.Point{X: glyphRadius, Y: glyphRadius}),
		})
	}
	for _, t := range l.texts {
		style := legendText()
		style.Color, style.Font.Size, style.YAlign = t.color, vg.Points(10), draw.YBottom
		box, free := corner(place(t.at), vg.Point{X: style.Width(t.words), Y: style.Height(t.words)}, func(r vg.Rectangle) bool {
			return inside(r, c.Rectangle) && !overlaps(r, words) && !overlaps(r, points)
		}, func(r vg.Rectangle) bool { return inside(r, c.Rectangle) && !overlaps(r, words) })
		if free {
			words = append(words, box)
			c.FillText(style, box.Min, t.words)
		}
	}
}

// corner returns the first box of a size at a corner of a point that pleases the first test, or else
// the next tests.
func corner(at, size vg.Point, tests ...func(vg.Rectangle) bool) (vg.Rectangle, bool) {
	const gap = 3
	for _, test := range tests {
		for _, min := range []vg.Point{
			{X: gap, Y: gap},
			{X: gap, Y: -gap - size.Y},
			{X: -gap - size.X, Y: gap},
			{X: -gap - size.X, Y: -gap - size.Y},
		} {
			box := vg.Rectangle{Min: at.Add(min), Max: at.Add(min).Add(size)}
			if test(box) {
				return box, true
			}
		}
	}
	return vg.Rectangle{}, false
}

func inside(r, all vg.Rectangle) bool {
	return r.Min.X >= all.Min.X && r.Min.Y >= all.Min.Y && r.Max.X <= all.Max.X && r.Max.Y <= all.Max.Y
}

func overlaps(r vg.Rectangle, others []vg.Rectangle) bool {
	for _, o := range others {
		if r.Min.X < o.Max.X && o.Min.X < r.Max.X && r.Min.Y < o.Max.Y && o.Min.Y < r.Max.Y {
			return true
		}
	}
	return false
}
