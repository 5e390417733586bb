package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"time"

	"github.com/seed-feabd252/randfeat/table"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what page.html shows.
type page struct {
	Model   *table.Model
	File    string
	Targets []*section
}

// section is what page.html shows of a target.
type section struct {
	*table.Explanation
	Model *table.Model
	Loss  string

	Importance, Scatter, Calibration template.URL
	Dependence                       []dependence
	Confusion                        []confusion // of each class, and of unknown classes
	Worst                            [][]string  // line, measured, predicted, loss
}

type dependence struct {
	Column, Missing string
	Picture         template.URL
}

// confusion counts the rows of a class by the most probable class.
type confusion struct {
	Class       string
	Counts      []int
	Rows, Right int
}

func (c confusion) Share(n int) float64 { return float64(n) / float64(c.Rows) }

// writePage writes a page about a model, whose targets have been explained at the rows of a file.
func writePage(w io.Writer, file string, m *table.Model, all []*table.Explanation) error {
	p := page{Model: m, File: file}
	for _, e := range all {
		own, err := newSection(m, e)
		if err != nil {
			return err
		}
		p.Targets = append(p.Targets, own)
	}
	return pageTemplate.Execute(w, p)
}

func newSection(m *table.Model, e *table.Explanation) (p *section, err error) {
	p = &section{Explanation: e, Model: m, Loss: "squared error"}
	draw := func(f charts.Figure) template.URL {
		var b bytes.Buffer
		if err == nil {
			err = f.Write(&b, "png")
		}
		return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()))
	}
	if m.Classes() == nil {
		p.Scatter = draw(p.scatter())
	} else {
		p.Loss = "log-loss"
		p.confuse()
	}
	p.Importance, p.Calibration = draw(p.importances()), draw(p.calibration())
	low, high := math.Inf(1), math.Inf(-1) // of all pictures, so that they compare
	shown, most := p.curves(), e.Columns[:min(6, len(e.Columns))]
	for _, c := range most {
		for _, d := range c.Dependence {
			for _, k := range shown {
				low, high = min(low, d.Mean[k]-d.StdErr[k]), max(high, d.Mean[k]+d.StdErr[k])
			}
		}
	}
	margin := cmp.Or(max(0.05*(high-low), 1e-6*math.Abs(high)), 1)
	for _, c := range most {
		f, missing := p.partial(c, shown)
		d := dependence{Column: c.Column, Missing: missing}
		if len(f.Panels[0].Series[0].Points) > 0 {
			f.YRange = [2]float64{low - margin, high + margin}
			d.Picture = draw(f)
		}
		p.Dependence = append(p.Dependence, d)
	}
	p.lose()
	return p, err
}

// name shortens a text for an axis.
func name(text string) string {
	if letters := []rune(text); len(letters) > 16 {
		return string(letters[:15]) + "…"
	}
	return text
}

// of returns the rows of a class of Explanation.Measured.
func (p *section) of(y float64) *confusion {
	if y < 0 {
		return &p.Confusion[len(p.Confusion)-1]
	}
	return &p.Confusion[int(y)]
}

func (p *section) importances() charts.Figure {
	f := charts.Figure{Title: "Importance", XLabel: "column", YLabel: "rise of the mean " + p.Loss}
	if p.Model.Classes() == nil {
		f.YLabel += ", (" + name(p.Target) + ")²"
	}
	s := charts.Series{Name: "rise ± standard error", Line: []charts.Point{}}
	for i, c := range p.Columns[:min(20, len(p.Columns))] {
		s.Points = append(s.Points, charts.Point{X: float64(i), Y: c.Loss, Err: c.StdErr})
		f.XTicks, f.XNames = append(f.XTicks, float64(i)), append(f.XNames, name(c.Column))
	}
	f.Panels = []charts.Panel{{Series: []charts.Series{s}}}
	return f
}

// curves returns the outputs in pictures of partial dependence: of numbers the only one, of two
// classes the second, and of more classes the six most frequent ones.
func (p *section) curves() (shown []int) {
	classes := len(p.Model.Classes())
	for k := range max(1, classes) {
		shown = append(shown, k)
	}
	if classes == 2 {
		return shown[1:]
	}
	slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(p.Confusion[b].Rows, p.Confusion[a].Rows) })
	return slices.Sorted(slices.Values(shown[:min(6, len(shown))]))
}

// partial returns the picture of a column, and the predictions without a value.
func (p *section) partial(c table.Importance, shown []int) (f charts.Figure, missing string) {
	all := p.Model.Columns()
	column := all[slices.IndexFunc(all, func(k table.Column) bool { return k.Name == c.Column })]
	isNumber := column.Kind == table.Number || column.Kind == table.Date
	f = charts.Figure{Title: name(c.Column), XLabel: name(c.Column), YLabel: "mean prediction of " + name(p.Target), LogX: column.Log}
	series := make([]charts.Series, len(shown))
	for i, k := range shown {
		s := &series[i]
		if s.Name = "mean prediction"; p.Model.Classes() != nil {
			s.Name, f.YLabel = name(p.Confusion[k].Class), "mean probability"
		}
		if !isNumber {
			s.Line = []charts.Point{}
		}
		for at, d := range c.Dependence {
			switch {
			case d.Value == "":
				missing += fmt.Sprintf("%s: %.4g ± %.2g. ", s.Name, d.Mean[k], d.StdErr[k])
				continue
			case !isNumber:
				if int(d.X) == len(column.Categories) {
					d.Value = "other"
				}
				d.X = float64(at)
				f.XTicks, f.XNames = append(f.XTicks, d.X), append(f.XNames, name(d.Value))
			}
			s.Points = append(s.Points, charts.Point{X: d.X, Y: d.Mean[k], Err: d.StdErr[k]})
		}
	}
	if points := series[0].Points; column.Kind == table.Date && len(points) > 0 {
		first, last := points[0].X, points[len(points)-1].X
		for i := range 4 {
			days := math.Round(first + float64(i)*(last-first)/3)
			f.XTicks, f.XNames = append(f.XTicks, days), append(f.XNames, time.Unix(int64(days)*86400, 0).UTC().Format(time.DateOnly))
		}
	}
	f.Panels = []charts.Panel{{Series: series}}
	return f, missing
}

// scatter shows predicted against measured targets, of some rows if rows are many.
func (p *section) scatter() charts.Figure {
	predicted := p.Predicted.Numbers[p.Target]
	inside, outside := charts.Series{Name: "inside the band of 90 %", Line: []charts.Point{}}, charts.Series{Name: "outside", Line: []charts.Point{}}
	for i := 0; i < len(p.Measured); i += 1 + len(p.Measured)/2000 {
		y, s := p.Measured[i], &inside
		if y < predicted.Quantiles[0][i] || y > predicted.Quantiles[1][i] {
			s = &outside
		}
		s.Points = append(s.Points, charts.Point{X: y, Y: predicted.Mean[i]})
	}
	target, low, high := name(p.Target), slices.Min(p.Measured), slices.Max(p.Measured)
	return charts.Figure{
		Title: "Predicted against measured", XLabel: "measured " + target, YLabel: "predicted " + target,
		Panels: []charts.Panel{{Series: []charts.Series{inside, outside, {Name: "equal", Line: []charts.Point{{X: low, Y: low}, {X: high, Y: high}}}}}},
	}
}

func (p *section) confuse() {
	classes := p.Model.Classes()
	for _, class := range slices.Concat(classes, []string{"unknown"}) {
		p.Confusion = append(p.Confusion, confusion{Class: class, Counts: make([]int, len(classes))})
	}
	for i, y := range p.Measured {
		row, c := p.Predicted.Probabilities.Row(i), p.of(y)
		most := slices.Index(row, slices.Max(row))
		c.Rows++
		if c.Counts[most]++; most == int(y) {
			c.Right++
		}
	}
}

func (p *section) calibration() charts.Figure {
	s, low := charts.Series{Name: "measured ± standard error", Line: []charts.Point{}}, 1.0
	for _, c := range p.Explanation.Calibration {
		s.Points = append(s.Points, charts.Point{X: c.Predicted, Y: c.Measured, Err: c.StdErr})
		low = max(0, min(low, c.Predicted, c.Measured-c.StdErr))
	}
	f := charts.Figure{Title: "Calibration", YRange: [2]float64{low - 0.03, 1.03}, XLabel: "probability that bands hold a target", YLabel: "share of targets in the bands"}
	if p.Model.Classes() != nil {
		f.XLabel, f.YLabel = "predicted probability of the most probable class", "share of rows of this class"
	}
	f.Panels = []charts.Panel{{Series: []charts.Series{s, {Name: "equal", Line: []charts.Point{{X: low, Y: low}, {X: 1, Y: 1}}}}}}
	return f
}

// lose lists the rows with the largest losses, rows of unknown classes first.
func (p *section) lose() {
	losses, order := slices.Clone(p.Losses), []int(nil)
	for i, v := range losses {
		if order = append(order, i); math.IsNaN(v) {
			losses[i] = math.Inf(1)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(losses[b], losses[a]) })
	for _, i := range order[:min(10, len(order))] {
		var cells []string
		if p.Model.Classes() == nil {
			own := p.Predicted.Numbers[p.Target]
			cells = []string{fmt.Sprintf("%.4g", p.Measured[i]), fmt.Sprintf("%.4g, from %.4g to %.4g", own.Mean[i], own.Quantiles[0][i], own.Quantiles[1][i])}
		} else {
			row := p.Predicted.Probabilities.Row(i)
			most := slices.Max(row)
			cells = []string{p.of(p.Measured[i]).Class, fmt.Sprintf("%s with probability %.3f", p.Confusion[slices.Index(row, most)].Class, most)}
		}
		p.Worst = append(p.Worst, append([]string{fmt.Sprint(p.Lines[i])}, append(cells, fmt.Sprintf("%.4g", losses[i]))...))
	}
}
