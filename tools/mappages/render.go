package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-feabd252/randfeat/internal/file/whole"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// The example of all tables: two points of R^dim of length 1, at an angle of 60°.
const dim, angle = 16, 60

// sizes are the numbers of frequencies of the tables; pictures have dim.
var sizes = []int{dim / 2, dim, 4 * dim}

// ensembles are the columns of the index and the rows of the tables.
var ensembles = []orf.Ensemble{
	orf.IID{}, orf.GramSchmidt{}, orf.Simplex{}, orf.Hadamard{}, orf.Givens{}, orf.Halton{},
	orf.IID{FixedLength: true}, orf.GramSchmidt{FixedLength: true}, orf.Simplex{FixedLength: true},
	orf.Hadamard{FixedLength: true}, orf.Givens{FixedLength: true}, orf.Cauchy{},
}

// drawn are the ensembles of the pictures.
var drawn = []orf.Ensemble{ensembles[0], ensembles[1], ensembles[2], ensembles[6], ensembles[7], ensembles[8], ensembles[11]}

// points returns two points of length 1 at an angle in degrees. No coordinate is 0, except by
// chance.
func points(degrees float64) (x, y []float64) {
	x, y = make([]float64, dim), make([]float64, dim)
	sin, cos := math.Sincos(degrees / 2 * math.Pi / 180)
	for i := range x {
		sign := 1 - 2*float64(i%2)
		x[i], y[i] = (cos+sin*sign)/4, (cos-sin*sign)/4 // √dim = 4
	}
	return x, y
}

// write writes all pages, the index and the pictures.
func write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("-o %q: %w, want a folder that can be made", folder, err)
	}
	var index strings.Builder
	index.WriteString(indexHead)
	for _, e := range ensembles {
		fmt.Fprintf(&index, " %v |", e)
	}
	index.WriteString("\n| --- |" + strings.Repeat(" --- |", len(ensembles)) + "\n")
	for _, p := range pages() {
		text, err := p.render(folder, &index)
		if err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
		if err := whole.Text(filepath.Join(folder, p.file+".md"), text); err != nil {
			return err
		}
	}
	return whole.Text(filepath.Join(folder, "README.md"), index.String())
}

// render returns the text of a page, draws its pictures and appends its maps to the index.
func (p page) render(folder string, index *strings.Builder) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n    %s\n\n%s\n\n[All maps](README.md) · notation: [below](#notation)\n", p.title, p.kernel, p.about)
	for _, m := range p.maps {
		fmt.Fprintf(&b, "\n## %s\n\n    %s\n", m.name, m.features)
		if m.about != "" {
			fmt.Fprintf(&b, "\n%s\n", m.about)
		}
		known, err := m.render(&b, folder, p.file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Fprintf(index, "| [%s](%s.md#%s) |", m.name, p.file, anchor(m.name))
		for _, e := range ensembles {
			fmt.Fprintf(index, " %s |", known[e.String()])
		}
		index.WriteString("\n")
	}
	b.WriteString(notation)
	return b.String(), nil
}

// anchor returns the anchor of a heading.
func anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// render appends the table, the picture and the formulas of a map, and returns what is known over
// each ensemble.
func (m mapping) render(b *strings.Builder, folder, file string) (known map[string]string, err error) {
	known = make(map[string]string)
	var table, formulas strings.Builder
	var unknown []string
	x, y := points(angle)
	var kernel float64
	for _, e := range ensembles {
		name := e.String()
		formula, listed := m.laws[name]
		cells := []string{name}
		lawful, fits := false, true
		for _, size := range sizes {
			f, err := m.over(e, size)
			if err != nil && listed {
				return nil, err
			}
			if fits = err == nil; !fits {
				break // the map does not take these frequencies
			}
			t := validate.Theory(f, nil, x, y)
			if lawful = t.Law != ""; !lawful {
				continue
			}
			kernel = f.Kernel().Eval(x, y)
			cells = append(cells, number(t.MSE))
		}
		if !fits {
			continue
		}
		if listed != lawful {
			return nil, fmt.Errorf("over %s the formula is %q, and a law is known: %v", name, formula, lawful)
		}
		if !lawful {
			unknown = append(unknown, name)
			known[name] = "—"
			continue
		}
		known[name] = "✓"
		fmt.Fprintf(&table, "| %s |\n", strings.Join(cells, " | "))
		fmt.Fprintf(&formulas, "- %s: `%s`\n", name, formula)
	}
	fmt.Fprintf(b, "\nAt the example pair k = %s. The exact mean squared error of the estimate with m frequencies:\n\n", number(kernel))
	b.WriteString("| frequencies |")
	for _, size := range sizes {
		fmt.Fprintf(b, " error, m = %d |", size)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(sizes)) + "\n" + table.String())
	picture := fmt.Sprintf("%s-%s.svg", file, anchor(m.name))
	if err := m.draw(filepath.Join(folder, picture)); err != nil {
		return nil, err
	}
	fmt.Fprintf(b, "\n![error of %s against the angle](%s)\n\nThe error is\n\n%s", m.name, picture, formulas.String())
	if len(unknown) > 0 {
		fmt.Fprintf(b, "\nNo law is known over %s.\n", strings.Join(unknown, ", "))
	}
	return known, nil
}

// number returns four digits of v.
func number(v float64) string { return fmt.Sprintf("%.4g", v) }

// over returns the map with so many frequencies of an ensemble.
func (m mapping) over(e orf.Ensemble, size int) (rff.Map[float64], error) {
	w, err := orf.Draw[float64](e, size, dim, source())
	if err != nil {
		return nil, err
	}
	return rff.Draw(m.spec, w)
}

// draw draws the error with dim frequencies against the angle between the points.
func (m mapping) draw(path string) error {
	panel := charts.Panel{}
	for _, e := range drawn {
		name := e.String()
		if _, ok := m.laws[name]; !ok {
			continue
		}
		f, err := m.over(e, dim)
		if err != nil {
			return err
		}
		line, errs := []charts.Point{}, 0.0
		for degrees := 10.0; degrees <= 170; degrees += 5 {
			x, y := points(degrees)
			e := validate.Theory(f, nil, x, y).MSE
			line, errs = append(line, charts.Point{X: degrees, Y: e}), math.Max(errs, e)
		}
		// A logarithmic axis has no place for the errors of exact estimates.
		if errs > 0 {
			panel.Series = append(panel.Series, charts.Series{Name: name, Line: line})
		}
	}
	return charts.Figure{
		Title:  fmt.Sprintf("%s: d = m = %d, ‖x‖ = ‖y‖ = 1", m.name, dim),
		XLabel: "angle between x and y, degrees", YLabel: "mean squared error",
		LogY: true, XTicks: []float64{30, 60, 90, 120, 150},
		Panels: []charts.Panel{panel},
	}.Save(path)
}
