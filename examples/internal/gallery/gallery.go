// Package gallery tests that the pictures of docs/gallery.md are those that the examples draw.
//
// Each picture is a PNG file in docs/gallery with a CSV file of its numbers. The test of an example
// computes the numbers again and compares them with the CSV file, but neither times nor the bytes
// of pictures, which change with fonts.
package gallery

import (
	"encoding/csv"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

type Number struct {
	Panel, Series string
	X, Y, Err     float64
}

type Picture struct {
	Name    string                  // the name of its files without an ending
	Save    func(path string) error // draws the picture
	Numbers []Number

	// A number y and its error may differ from those of the CSV file by Relative·|y| + Absolute.
	Relative, Absolute float64

	// Timed is true if X is a time, which the test does not compare.
	Timed bool
}

// Of returns the picture of a figure. It omits NaN and infinity, which a figure does not draw.
func Of(name string, f charts.Figure) Picture {
	p := Picture{Name: name, Save: f.Save}
	add := func(n Number) {
		if !math.IsNaN(n.Y) && !math.IsInf(n.Y, 0) {
			p.Numbers = append(p.Numbers, n)
		}
	}
	for _, panel := range f.Panels {
		for _, s := range panel.Series {
			for _, q := range s.Points {
				add(Number{panel.Title, s.Name, q.X, q.Y, q.Err})
			}
			for _, q := range s.Line {
				add(Number{panel.Title, s.Name + ", line", q.X, q.Y, 0})
			}
		}
		for _, l := range panel.Levels {
			add(Number{panel.Title, l.Name, 0, l.Y, 0})
		}
	}
	return p
}

// Begin skips the test of a picture that takes seconds, unless RANDFEAT_DOCS is in the environment:
// check, as in .ci/run, or draw.
func Begin(t *testing.T) {
	t.Helper()
	if os.Getenv("RANDFEAT_DOCS") == "" {
		t.Skip("RANDFEAT_DOCS is not set: the picture is not computed again")
	}
}

// Check draws the picture to a temporary folder and compares its numbers with the CSV file in
// docs/gallery. With RANDFEAT_DOCS=draw in the environment, Check writes both files instead. The
// working directory must be the folder of an example.
func Check(t *testing.T, p Picture) {
	t.Helper()
	if err := p.check(filepath.Join("..", "..", "docs", "gallery"), t.TempDir(), os.Getenv("RANDFEAT_DOCS") == "draw"); err != nil {
		t.Error(err)
	}
}

func (p Picture) check(folder, scratch string, write bool) error {
	if write {
		if err := p.write(filepath.Join(folder, p.Name+".csv")); err != nil {
			return err
		}
		return p.Save(filepath.Join(folder, p.Name+".png"))
	}
	if err := p.Save(filepath.Join(scratch, p.Name+".png")); err != nil {
		return err
	}
	for _, dir := range []string{folder, scratch} {
		if err := decode(filepath.Join(dir, p.Name+".png")); err != nil {
			return err
		}
	}
	committed, err := read(filepath.Join(folder, p.Name+".csv"))
	if err != nil {
		return err
	}
	return p.compare(committed)
}

func decode(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (p Picture) compare(committed []Number) error {
	const again = "; RANDFEAT_DOCS=draw in the environment of the test draws the picture again"
	if len(committed) != len(p.Numbers) {
		return fmt.Errorf("gallery: %s shows %d numbers, and %d are committed%s", p.Name, len(p.Numbers), len(committed), again)
	}
	for i, want := range committed {
		got := p.Numbers[i]
		near := func(a, b float64) bool {
			return a == b || math.Abs(a-b) <= p.Relative*math.Abs(want.Y)+p.Absolute
		}
		// Titles of panels may have times in them.
		const digits = 1e-5 // rounding of the CSV file
		same := got.Series == want.Series && (p.Timed || got.Panel == want.Panel && math.Abs(got.X-want.X) <= digits*math.Abs(want.X))
		if !same || !near(got.Y, want.Y) || !near(got.Err, want.Err) {
			return fmt.Errorf("gallery: %s, number %d: %v, committed %v%s", p.Name, i, got, want, again)
		}
	}
	return nil
}

var head = []string{"panel", "series", "x", "y", "err"}

func (p Picture) write(path string) error {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	lines := [][]string{head}
	for _, n := range p.Numbers {
		lines = append(lines, []string{n.Panel, n.Series, number(n.X), number(n.Y), number(n.Err)})
	}
	return cli.Write(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(lines) })
}

func read(path string) ([]Number, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s has no numbers", path)
	}
	var all []Number
	for _, line := range lines[1:] {
		n := Number{Panel: line[0], Series: line[1]}
		for i, v := range []*float64{&n.X, &n.Y, &n.Err} {
			if *v, err = strconv.ParseFloat(line[2+i], 64); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		all = append(all, n)
	}
	return all, nil
}
