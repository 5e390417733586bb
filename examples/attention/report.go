package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

func (c *comparison) report(w io.Writer) error {
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
	fmt.Fprintf(w, "\n%s\nExact: %s ms; its %d×%d weights would take %.2f MiB if they were kept.\n\n",
		c.about, milliseconds(c.time), h.q.Rows, h.k.Rows, 4*float64(h.q.Rows)*float64(h.k.Rows)/(1<<20))

	fmt.Fprintf(w, "Relative error of the outputs, and how many times as fast as exact attention, by size: 10 over the threshold of blocks, or frequencies\n")
	names := []string{"attention"}
	for _, size := range c.sizes {
		names = append(names, fmt.Sprintf("error, %d", size), "faster")
	}
	t := table.New(1, names...)
	for i := 0; i < len(c.rows); {
		cells := []string{c.rows[i].name}
		for name := c.rows[i].name; i < len(c.rows) && c.rows[i].name == name; i++ {
			faster := ""
			if c.rows[i].time > 0 {
				faster = fmt.Sprintf("%.3g×", c.time.Seconds()/c.rows[i].time.Seconds())
			}
			cells = append(cells, number(c.rows[i].err), faster)
		}
		for len(cells) < len(names) {
			cells = append(cells, "")
		}
		t.Row(cells...)
	}
	return t.Fprint(w)
}

func number(v float64) string {
	if !finite(v) {
		return "overflow"
	}
	return fmt.Sprintf("%#.3g", v)
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", 1e3*d.Seconds()) }

// Smaller errors are rounding errors of float32, and forms with larger errors are useless.
const leastShown, mostShown = 1e-7, 10

func (c *comparison) panel() charts.Panel {
	panel := charts.Panel{Title: c.title}
	for _, r := range c.rows {
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
		if r.name == formNames[0] {
			s.Labels = append(s.Labels, fmt.Sprint(r.size)) // labels of other lines would overlap
		}
	}
	exact := 1e3 * c.time.Seconds()
	panel.Series = append(panel.Series, charts.Series{
		Name: "exact attention",
		Line: []charts.Point{{X: exact, Y: leastShown}, {X: exact, Y: mostShown}},
	})
	return panel
}

func (s settings) picture(all ...*comparison) charts.Figure {
	f := charts.Figure{
		Title: fmt.Sprintf("Approximations of attention, d = %d; points of a line: 10/threshold or frequencies %s",
			all[0].heads[0].q.Cols, strings.ReplaceAll(strings.Trim(fmt.Sprint(s.sizes), "[]"), " ", ", ")),
		XLabel: "time, ms", YLabel: "relative error of the output",
		LogX: true, LogY: true,
		YRange: [2]float64{mostShown, leastShown},
	}
	for _, c := range all {
		f.Panels = append(f.Panels, c.panel())
		for _, r := range c.rows {
			if finite(r.err) {
				f.YRange = [2]float64{min(f.YRange[0], max(r.err/1.5, leastShown)), max(f.YRange[1], min(r.err*1.5, mostShown))}
			}
		}
	}
	if !(f.YRange[0] < f.YRange[1]) {
		f.YRange = [2]float64{leastShown, mostShown}
	}
	return f
}
