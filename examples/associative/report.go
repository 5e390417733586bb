package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// report prints the meaning of the columns and the table.
func (s settings) report(w io.Writer, rows []row) error {
	fmt.Fprintf(w, `Recall of n values under random keys of R^%d, of which half had another value before

error        ‖answers − values‖² / ‖values‖²: 0 is exact, 1 what answering zero would make;
             mean ± standard error over %d draws
linear, law  the error that the linear rule is expected to make

`, s.d, s.draws)
	names := []string{"n", "linear, law"}
	for _, rule := range rules {
		names = append(names, rule.String())
	}
	t := table.New(0, names...)
	for _, r := range rows {
		cells := []string{strconv.Itoa(r.n), fmt.Sprintf("%.3f", r.law)}
		for _, e := range r.errors {
			cells = append(cells, fmt.Sprintf("%.3f ± %.3f", e.mean, e.stderr))
		}
		t.Row(cells...)
	}
	return t.Fprint(w)
}

// picture draws the errors against n.
func (s settings) picture(rows []row) charts.Figure {
	panel := charts.Panel{Title: "random keys", Levels: []charts.Level{{Name: "answering zero", Y: 1}}}
	fig := charts.Figure{
		Title:  fmt.Sprintf("Recall from a %d×%d state", s.d, s.d),
		XLabel: "keys n", YLabel: "squared error of the answers", LogX: true, LogY: true,
	}
	for i, rule := range rules {
		series := charts.Series{Name: rule.String()}
		for _, r := range rows {
			series.Points = append(series.Points, charts.Point{X: float64(r.n), Y: r.errors[i].mean, Err: r.errors[i].stderr})
		}
		panel.Series = append(panel.Series, series)
	}
	for _, r := range rows {
		fig.XTicks = append(fig.XTicks, float64(r.n))
	}
	fig.Panels = []charts.Panel{panel}
	return fig
}
