package charts

import (
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/validate"
)

// Columns names the columns of a validate.Table, by their keys, that a figure is made of. X and Y
// are required.
type Columns struct {
	X, Y string
	// Err, if not "", has the lengths of error bars.
	Err string
	// Line, if not "", has values that a line is drawn through in place of Y: a law beside its
	// measurements.
	Line string
	// Series and Panel, if not "", have the names by which the rows are told apart.
	Series, Panel string
}

// FromTable returns the figure of a table: a point a row, a series for each name in the column Series and
// a panel for each in the column Panel, in the order in which they come first. Its title is the
// title of the table, its labels are the heads of the columns, and its axes are linear; all may be
// changed. It returns an error for a column that the table lacks and for a cell that is not a
// number where one is needed.
func FromTable(t validate.Table, c Columns) (Figure, error) {
	numbers := func(key string) ([]float64, error) {
		if key == "" {
			return make([]float64, len(t.Rows)), nil
		}
		return t.Numbers(key)
	}
	names := func(key string) ([]string, error) {
		if key == "" {
			return make([]string, len(t.Rows)), nil
		}
		return t.Names(key)
	}
	var columns [4][]float64
	for i, key := range []string{c.X, c.Y, c.Err, c.Line} {
		if key == "" && i < 2 {
			return Figure{}, fmt.Errorf("charts: a figure needs columns X and Y, got %q and %q", c.X, c.Y)
		}
		var err error
		if columns[i], err = numbers(key); err != nil {
			return Figure{}, fmt.Errorf("charts: %w", err)
		}
	}
	series, err := names(c.Series)
	if err != nil {
		return Figure{}, fmt.Errorf("charts: %w", err)
	}
	panels, err := names(c.Panel)
	if err != nil {
		return Figure{}, fmt.Errorf("charts: %w", err)
	}
	f := Figure{Title: t.Title, XLabel: head(t, c.X), YLabel: head(t, c.Y)}
	for i := range t.Rows {
		s := f.panel(panels[i]).series(series[i])
		x, bar := columns[0][i], columns[2][i]
		if math.IsNaN(bar) {
			bar = 0
		}
		s.Points = append(s.Points, Point{X: x, Y: columns[1][i], Err: bar})
		if c.Line != "" {
			s.Line = append(s.Line, Point{X: x, Y: columns[3][i]})
		}
	}
	return f, nil
}

// head returns the head of the column with that key.
func head(t validate.Table, key string) string {
	at := slices.IndexFunc(t.Columns, func(c validate.Column) bool { return c.Key == key })
	return t.Columns[at].Name
}

// panel returns the panel with that title, a new one if there is none.
func (f *Figure) panel(title string) *Panel {
	at := slices.IndexFunc(f.Panels, func(p Panel) bool { return p.Title == title })
	if at < 0 {
		at = len(f.Panels)
		f.Panels = append(f.Panels, Panel{Title: title})
	}
	return &f.Panels[at]
}

// series returns the series with that name, a new one if there is none.
func (p *Panel) series(name string) *Series {
	at := slices.IndexFunc(p.Series, func(s Series) bool { return s.Name == name })
	if at < 0 {
		at = len(p.Series)
		p.Series = append(p.Series, Series{Name: name})
	}
	return &p.Series[at]
}
