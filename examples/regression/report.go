package main

import (
	"fmt"
	"io"
	"time"

	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// report prints what each method needs, after a table for each data set if they are asked for.
func (s settings) report(w io.Writer, points, images outcome) error {
	if s.table {
		if err := s.tables(w, points, images); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, `Ridge regression on %d points in R^%d and on %d images of %d×%d pixels, by features and by the kernel itself.
The smallest m from %d to %d whose test error is at most %.0f %% above that of exact regression:

`, s.train, dim, s.images, side, side, sizes[0], sizes[len(sizes)-1], 100*within)
	return needs(w, points, images)
}

// tables prints a table for each data set.
func (s settings) tables(w io.Writer, points, images outcome) error {
	fmt.Fprintf(w, `Ridge regression on %d points in R^%d, tested on %d; Gaussian kernel, ℓ = %g, λ = %g, noise %g

m            frequencies or landmarks
test error   root mean square of prediction − value; the noise alone makes %g
from exact   root mean square of the difference between this prediction and the exact one
             both: mean ± standard error over %d draws of frequencies or landmarks
time         to draw the map, to fit and to predict, median; speed is the time of exact regression over this one

`, s.train, dim, s.test, s.lengthScale, s.lambda, noise, noise, s.draws)
	if err := points.fprint(w); err != nil {
		return err
	}
	fmt.Fprintf(w, `
Ridge regression on %d images of %d×%d pixels, tested on %d; convolutional kernel, ℓ = %g, λ = %g, noise %g

`, s.images, side, side, s.imageTest, s.patchScale, s.imageLambda, imageNoise)
	if err := images.fprint(w); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", 1e3*d.Seconds()) }

// fprint prints the table of a data set.
func (o outcome) fprint(w io.Writer) error {
	t := table.New(1, "method", "m", "features", "test error", "from exact", "time, ms", "speed")
	t.Row("exact kernel", "", "", fmt.Sprintf("%.4f", o.exactError), "", milliseconds(o.exactTime), "1.00×")
	for _, r := range o.rows {
		if r.m == sizes[0] {
			t.Gap()
		}
		t.Row(r.method, fmt.Sprint(r.m), fmt.Sprint(r.features), r.test.String(), r.exact.String(), milliseconds(r.time),
			fmt.Sprintf("%.2f×", o.exactTime.Seconds()/r.time.Seconds()))
	}
	return t.Fprint(w)
}

// needs prints the table of the m needed.
func needs(w io.Writer, points, images outcome) error {
	t := table.New(2,
		"data", "method", "m needed", "features", "test error", "exact", "above exact")
	for _, set := range []struct {
		name string
		outcome
	}{{"points", points}, {"images", images}} {
		t.Gap()
		for i := 0; i < len(set.rows); i += len(sizes) {
			name := set.rows[i].method
			exact := fmt.Sprintf("%.4f", set.exactError)
			r, ok := set.needed(name)
			if !ok {
				t.Row(set.name, name, fmt.Sprintf("> %d", sizes[len(sizes)-1]), "", "", exact, "")
				continue
			}
			t.Row(set.name, name, fmt.Sprint(r.m), fmt.Sprint(r.features), fmt.Sprintf("%.4f", r.test.mean), exact,
				fmt.Sprintf("%.1f %%", 100*(r.test.mean/set.exactError-1)))
		}
	}
	return t.Fprint(w)
}

func (e estimate) String() string { return fmt.Sprintf("%.4f ± %.4f", e.mean, e.stderr) }

// picture draws test errors and distances from the exact predictions against the number of
// features.
func picture(points, images outcome) charts.Figure {
	return charts.Figure{
		Title:  "Ridge regression with features",
		XLabel: "features", YLabel: "root mean square",
		LogX: true, LogY: true, OwnY: true,
		Panels: []charts.Panel{
			panel("points: test error", points, func(r row) estimate { return r.test },
				charts.Level{Name: "exact kernel ridge", Y: points.exactError}, charts.Level{Name: "noise", Y: noise}),
			panel("points: from the exact prediction", points, func(r row) estimate { return r.exact }),
			panel("images: test error", images, func(r row) estimate { return r.test },
				charts.Level{Name: "exact kernel ridge", Y: images.exactError}),
		},
	}
}

// panel draws one quantity of all methods.
func panel(title string, o outcome, of func(r row) estimate, levels ...charts.Level) charts.Panel {
	p := charts.Panel{Title: title, Levels: levels}
	for i := 0; i < len(o.rows); i += len(sizes) {
		s := charts.Series{Name: o.rows[i].method}
		for _, r := range o.rows[i : i+len(sizes)] {
			e := of(r)
			s.Points = append(s.Points, charts.Point{X: float64(r.features), Y: e.mean, Err: e.stderr})
		}
		p.Series = append(p.Series, s)
	}
	return p
}
