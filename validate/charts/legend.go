package charts

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	iconWidth = 1.1 * vg.Centimeter
	entryGap  = 8 * vg.Millimeter
)

type legend struct {
	rows   [][]style
	widths []vg.Length
}

func newLegend(styles []style, width vg.Length) legend {
	widest := breakLegend(styles, width)
	for w := width / 4; w < width; w += margin {
		if l := breakLegend(styles, w); len(l.rows) == len(widest.rows) {
			return l
		}
	}
	return widest
}

func breakLegend(styles []style, width vg.Length) legend {
	var l legend
	for _, s := range styles {
		w := entryWidth(s)
		if n := len(l.rows); n == 0 || l.widths[n-1]+w > width {
			l.rows, l.widths = append(l.rows, nil), append(l.widths, 0)
		}
		n := len(l.rows) - 1
		l.rows[n], l.widths[n] = append(l.rows[n], s), l.widths[n]+w
	}
	return l
}

func entryWidth(s style) vg.Length { return iconWidth + legendText().Width(s.name) + entryGap }

func legendText() draw.TextStyle {
	text := plot.New().X.Label.TextStyle
	text.Font.Size = vg.Points(12)
	text.XAlign, text.YAlign = draw.XLeft, draw.YCenter
	return text
}

func (l legend) draw(c draw.Canvas) vg.Length {
	text := legendText()
	top := c.Min.Y + lineHeight*vg.Length(len(l.rows))
	for i, row := range l.rows {
		x := c.Center().X - l.widths[i]/2
		y := top - lineHeight*(vg.Length(i)+0.5)
		for _, s := range row {
			box := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: y - lineHeight/2}, Max: vg.Point{X: x + iconWidth*0.8, Y: y + lineHeight/2},
			}}
			s.sample(&box)
			c.FillText(text, vg.Point{X: x + iconWidth, Y: y}, s.name)
			x += entryWidth(s)
		}
	}
	return top
}
