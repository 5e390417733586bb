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
	fmt.Fprintf(w, "\n%s\nExact: %s ms; its %d×%d weights would take %.2f MiB if they were kept.\n\n",
		c.about, milliseconds(c.time), h.q.Rows, h.k.Rows, 4*float64(h.q.Rows)*float64(h.k.Rows)/(1<<20))
}

// report prints a line for each form of attention, with columns for each size.
func (c *comparison) report(w io.Writer, rows []row) error {
	fmt.Fprintf(w, "Relative error of the outputs, and how many times as fast as exact attention, by size: landmarks, clusters, or frequencies\n")
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
			cells = append(cells, fmt.Sprintf("%#.3g", rows[i].err), faster)
		}
		for len(cells) < len(names) {
			cells = append(cells, "")
		}
		t.Row(cells...)
	}
	return t.Fprint(w)
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", 1e3*d.Seconds()) }

// picture draws error against time. It has a line for each form with a point for each size, and a
// vertical line at the time of exact attention.
func (c *comparison) picture(rows []row) charts.Figure {
	panel := charts.Panel{Title: c.title}
	var shown []float64
	for _, r := range rows {
		if finite(r.err) {
			shown = append(shown, r.err)
		}
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
		if r.name == "landmarks" || r.name == "clusters" {
			s.Labels = append(s.Labels, fmt.Sprint(r.size)) // labels of other lines would overlap
		}
	}
	lo := max(slices.Min(shown)/1.5, 1e-7) // smaller errors are rounding errors of float32
	hi := max(slices.Max(shown)*1.5, 2*lo)
	exact := 1e3 * c.time.Seconds()
	panel.Series = append(panel.Series, charts.Series{Name: "exact attention", Line: []charts.Point{{X: exact, Y: lo}, {X: exact, Y: hi}}})
	sizes := strings.Trim(strings.ReplaceAll(fmt.Sprint(c.sizes), " ", ", "), "[]")
	return charts.Figure{
		Title: fmt.Sprintf("Approximations of attention, L = %d, d = %d; points of a line: %s clusters, landmarks or frequencies",
			c.heads[0].q.Rows, c.heads[0].q.Cols, sizes),
		XLabel: "time, ms", YLabel: "relative error of the output",
		LogX: true, LogY: true, YRange: [2]float64{lo, hi}, Panels: []charts.Panel{panel},
	}
}
