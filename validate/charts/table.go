package charts

import (
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/validate"
)

// Columns has the keys of the columns of a validate.Table for a figure. X and Y are required. ""
// means no column.
type Columns struct {
	X, Y   string
	Err    string // the lengths of error bars
	Line   string // the values of a line, for example of a law
	Series string // the names of series
	Panel  string // the titles of panels
}

// FromTable returns the figure of a table. Each row is a point. Each name in the column Series is a
// series, and each name in the column Panel a panel, in the order of their first appearance. The
// title is the title of the table, the labels are the names of the columns, and the axes are
// linear. FromTable returns an error for a column that the table does not have, and for a cell of
// X, Y, Err or Line that is not a number.
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
	f := Figure{Title: t.Title, XLabel: columnName(t, c.X), YLabel: columnName(t, c.Y)}
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

// columnName returns the name of the column with a key.
func columnName(t validate.Table, key string) string {
	at := slices.IndexFunc(t.Columns, func(c validate.Column) bool { return c.Key == key })
	return t.Columns[at].Name
}

// panel returns the panel with a title. panel adds a panel if there is none.
func (f *Figure) panel(title string) *Panel {
	at := slices.IndexFunc(f.Panels, func(p Panel) bool { return p.Title == title })
	if at < 0 {
		at = len(f.Panels)
		f.Panels = append(f.Panels, Panel{Title: title})
	}
	return &f.Panels[at]
}

// series returns the series with a name. series adds a series if there is none.
func (p *Panel) series(name string) *Series {
	at := slices.IndexFunc(p.Series, func(s Series) bool { return s.Name == name })
	if at < 0 {
		at = len(p.Series)
		p.Series = append(p.Series, Series{Name: name})
	}
	return &p.Series[at]
}
