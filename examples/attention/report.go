package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// describe prints the tensors and the time of exact attention.
func (c *comparison) describe(w io.Writer) {
	h := c.heads[0]
	kind := "attention"
	if c.causal {
		kind = "causal attention"
	}
	fmt.Fprintf(w, "Exact and approximate %s: L = %d, d = %d", kind, h.q.Rows, h.q.Cols)
	if h.k.Rows != h.q.Rows {
		fmt.Fprintf(w, ", %d keys", h.k.Rows)
	}
	if len(c.heads) > 1 {
		fmt.Fprintf(w, ", %d heads", len(c.heads))
	}
	fmt.Fprintln(w)
	for _, line := range c.about {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "Exact: %s ms; its %d×%d weights would take %.2f MiB if they were kept.\n\n",
		milliseconds(c.time), h.q.Rows, h.k.Rows, 4*float64(h.q.Rows)*float64(h.k.Rows)/(1<<20))
}

// report prints a line for each form of attention, with columns for each size.
func (c *comparison) report(w io.Writer, rows []row) error {
	fmt.Fprintf(w, "Relative error of the outputs, and how many times as fast as exact attention, by size: clusters or frequencies\n")
	names := []string{"attention"}
	for _, size := range c.sizes {
		names = append(names, fmt.Sprintf("error, %d", size), "faster")
	}
	t := table.New(1, names...)
	for i := 0; i < len(rows); {
		cells := []string{rows[i].name}
		for name := rows[i].name; i < len(rows) && rows[i].name == name; i++ {
			faster := ""
			if rows[i].time > 0 {
				faster = fmt.Sprintf("%.3g×", c.time.Seconds()/rows[i].time.Seconds())
			}
			cells = append(cells, number(rows[i].err), faster)
		}
		for len(cells) < len(names) {
			cells = append(cells, "")
		}
		t.Row(cells...)
	}
	return t.Fprint(w)
}

// number formats v with three digits, or as "overflow" if v is not finite.
func number(v float64) string {
	if !finite(v) {
		return "overflow"
	}
	return fmt.Sprintf("%#.3g", v)
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", 1e3*d.Seconds()) }

// The picture shows errors between these bounds. Smaller errors are rounding errors of float32, and
// forms with larger errors are useless.
const leastShown, mostShown = 1e-7, 10

// compared returns a panel of error against time. The panel has a line for each form with a point
// for each size, and a vertical line at the time of exact attention.
func (c *comparison) compared(rows []row, answer string) compared {
	panel := charts.Panel{Title: c.title}
	for _, r := range rows {
		n := len(panel.Series)
		switch {
		case r.size == 0:
			panel.Levels = append(panel.Levels, charts.Level{Name: r.name, Y: r.err})
			continue
		case n == 0 || panel.Series[n-1].Name != r.name:
			panel.Series = append(panel.Series, charts.Series{Name: r.name})
			n++
		}
		s := &panel.Series[n-1]
		s.Points = append(s.Points, charts.Point{X: 1e3 * r.time.Seconds(), Y: r.err, Err: r.stderr})
		if r.name == "clusters" {
			s.Labels = append(s.Labels, fmt.Sprint(r.size)) // labels of other lines would overlap
		}
	}
	exact := 1e3 * c.time.Seconds()
	panel.Series = append(panel.Series, charts.Series{
		Name: "exact attention",
		Line: []charts.Point{{X: exact, Y: leastShown}, {X: exact, Y: mostShown}},
	})
	return compared{length: c.heads[0].q.Rows, dim: c.heads[0].q.Cols, panel: panel, answer: answer}
}

// picture draws a panel for each comparison.
func (s settings) picture(all ...compared) charts.Figure {
	var sizes []string
	for _, size := range s.sizes {
		sizes = append(sizes, fmt.Sprint(size))
	}
	var lengths []string // of the panels
	for _, c := range all {
		lengths = append(lengths, fmt.Sprint(c.length))
	}
	f := charts.Figure{
		Title: fmt.Sprintf("Approximations of attention, L = %s, d = %d; points of a line: %s clusters or frequencies",
			strings.Join(slices.Compact(lengths), " and "), all[0].dim, strings.Join(sizes, ", ")),
		XLabel: "time, ms", YLabel: "relative error of the output",
		LogX: true, LogY: true,
	}
	var shown []float64
	for _, c := range all {
		f.Panels = append(f.Panels, c.panel)
		for _, line := range c.panel.Series {
			for _, p := range line.Points {
				shown = append(shown, p.Y)
			}
		}
		for _, l := range c.panel.Levels {
			shown = append(shown, l.Y)
		}
	}
	shown = slices.DeleteFunc(shown, func(v float64) bool { return !finite(v) })
	f.YRange = [2]float64{max(slices.Min(shown)/1.5, leastShown), min(slices.Max(shown)*1.5, mostShown)}
	if !(f.YRange[0] < f.YRange[1]) {
		f.YRange = [2]float64{leastShown, mostShown}
	}
	return f
}
