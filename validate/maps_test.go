package validate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// mapping is a map of a page of docs/maps.
type mapping struct {
	page, name string
	spec       rff.Spec
}

func mappings() []mapping {
	src := func() rand.Source { return rand.NewPCG(1, 2) }
	// Samples are points whose first coordinates vary most.
	sample := func(seed uint64) dense.Matrix[float64] {
		rng, x := rand.New(rand.NewPCG(seed, 3)), dense.New[float64](100, pageDim)
		for i := range x.Data {
			x.Data[i] = rng.NormFloat64() * (0.1 + 0.6/float64(i%pageDim+1))
		}
		return x
	}
	x, y := sample(1), sample(2)
	return []mapping{
		{"gaussian", "Gaussian", rff.Gaussian{LengthScale: 1}},
		{"softmax", "SoftmaxTrig", rff.SoftmaxTrig{Scale: 1}},
		{"softmax", "SoftmaxPositive", rff.SoftmaxPositive{Scale: 1}},
		{"softmax", "SoftmaxHyperbolic", rff.SoftmaxHyperbolic{Scale: 1}},
		{"softmax", "SoftmaxOptimal", rff.SoftmaxOptimal{Scale: 1, A: -0.04}},
		{"softmax", "SADERF", must.Have(rff.FitSADERF(x, y, 1))},
		{"softmax", "ADERF", must.Have(rff.FitADERF(x, y, 1))},
		{"softmax", "SDERF", must.Have(rff.FitSDERF(x, y, 1))},
		{"dot", "DotProduct", rff.DotProduct{}},
		{"angular", "Angular", rff.Angular{}},
		{"arccosine", "ArcCosine", rff.ArcCosine{}},
		{"matern", "Laplacian", rff.Laplacian{LengthScale: 1}},
		{"matern", "Matern of 1/2", rff.Matern{Nu: 0.5, LengthScale: 1, Src: src()}},
		{"matern", "Matern of 3/2", rff.Matern{Nu: 1.5, LengthScale: 1, Src: src()}},
		{"matern", "Matern of 5/2", rff.Matern{Nu: 2.5, LengthScale: 1, Src: src()}},
	}
}

// pageDim is the dimension of the example of all pages.
const pageDim = 16

// pageEnsembles are the columns of the index and the rows of the tables. Pictures show the first
// three, and those of the same with rows of fixed length, and the last.
var pageEnsembles = []orf.Ensemble{
	orf.IID{}, orf.GramSchmidt{}, orf.Simplex{}, orf.Hadamard{}, orf.Givens{}, orf.Halton{},
	orf.IID{FixedLength: true}, orf.GramSchmidt{FixedLength: true}, orf.Simplex{FixedLength: true},
	orf.Hadamard{FixedLength: true}, orf.Givens{FixedLength: true}, orf.Cauchy{},
}

// over returns the map with so many frequencies of an ensemble.
func (m mapping) over(e orf.Ensemble, size int) (rff.Map[float64], error) {
	return rff.Draw(m.spec, must.Have(orf.Draw[float64](e, size, pageDim, rand.NewPCG(1, 2))))
}

// pointsAt returns two points of length 1 at an angle in degrees. No coordinate is 0, except by
// chance.
func pointsAt(degrees float64) (x, y []float64) {
	sin, cos := math.Sincos(degrees / 2 * math.Pi / 180)
	for i := range pageDim {
		sign := 1 - 2*float64(i%2)
		x, y = append(x, (cos+sin*sign)/4), append(y, (cos-sin*sign)/4) // √16 = 4
	}
	return x, y
}

// table returns the numbers of the example pair, and the ensembles with a law and without.
func (m mapping) table() (text string, known, unknown []string) {
	var rows strings.Builder
	var kernel float64
	x, y := pointsAt(60)
	for _, e := range pageEnsembles {
		row, lawful := "| "+e.String(), false
		for _, size := range []int{8, 16, 64} {
			f, err := m.over(e, size)
			if err != nil { // the map does not take these frequencies
				row = ""
				break
			}
			law := validate.Theory(f, nil, x, y)
			kernel, lawful = f.Kernel().Eval(x, y), law.Law != ""
			row += fmt.Sprintf(" | %.4g", law.MSE)
		}
		switch {
		case row == "":
		case lawful:
			known = append(known, e.String())
			rows.WriteString(row + " |\n")
		default:
			unknown = append(unknown, e.String())
		}
	}
	return fmt.Sprintf("At the example pair k = %.4g. The exact mean squared error of the estimate with m frequencies:\n\n"+
		"| frequencies | error, m = 8 | error, m = 16 | error, m = 64 |\n| --- | ---: | ---: | ---: |\n%s", kernel, rows.String()), known, unknown
}

// picture shows the error with 16 frequencies against the angle between the points.
func (m mapping) picture(known []string) charts.Figure {
	var panel charts.Panel
	for i, e := range pageEnsembles {
		if !slices.Contains(known, e.String()) || i%6 > 2 && i < 11 {
			continue
		}
		f := must.Have(m.over(e, pageDim))
		line, most := []charts.Point{}, 0.0
		for degrees := 10.0; degrees <= 170; degrees += 5 {
			x, y := pointsAt(degrees)
			v := validate.Theory(f, nil, x, y).MSE
			line, most = append(line, charts.Point{X: degrees, Y: v}), max(most, v)
		}
		// A logarithmic axis has no place for the errors of exact estimates.
		if most > 0 {
			panel.Series = append(panel.Series, charts.Series{Name: e.String(), Line: line})
		}
	}
	return charts.Figure{
		Title:  fmt.Sprintf("%s: d = m = %d, ‖x‖ = ‖y‖ = 1", m.name, pageDim),
		XLabel: "angle between x and y, degrees", YLabel: "mean squared error",
		LogY: true, XTicks: []float64{30, 60, 90, 120, 150},
		Panels: []charts.Panel{panel},
	}
}

// TestMapPages: the pages of docs/maps list exactly the laws that Theory knows, and have its
// numbers and pictures. The test writes the numbers and the pictures with RANDFEAT_DOCS=draw.
func TestMapPages(t *testing.T) {
	const folder = "../docs/maps"
	write := os.Getenv("RANDFEAT_DOCS") == "draw"
	read := func(name string) string { return string(must.Have(os.ReadFile(filepath.Join(folder, name)))) }
	index := read("README.md")
	sections := 0
	for _, m := range mappings() {
		page := read(m.page + ".md")
		_, section, found := strings.Cut(page, "\n## "+m.name+"\n")
		require.True(t, found, m.name)
		section, _, _ = strings.Cut(section, "\n## ")
		sections++
		want, known, unknown := m.table()
		anchor := strings.NewReplacer(" ", "-", "/", "").Replace(strings.ToLower(m.name))
		picture := m.page + "-" + anchor + ".svg"

		from, to := strings.Index(section, "At the example pair"), strings.Index(section, fmt.Sprintf("\n![error of %s against the angle](%s)\n", m.name, picture))
		require.True(t, 0 <= from && from < to, "%s: no numbers or no picture", m.name)
		fresh := filepath.Join(t.TempDir(), "a.svg")
		require.NoError(t, m.picture(known).Save(fresh))
		if write {
			require.NoError(t, os.WriteFile(filepath.Join(folder, m.page+".md"), []byte(strings.Replace(page, section[from:to], want, 1)), 0o666))
			require.NoError(t, os.WriteFile(filepath.Join(folder, picture), must.Have(os.ReadFile(fresh)), 0o666))
		} else {
			// Numbers of four digits may differ by one of the last, and places in pictures, which
			// have about 500 units, by a fifth of a unit.
			assert.Empty(t, differ(want, section[from:to], 1.1e-3, 0), m.name)
			assert.Empty(t, differ(string(must.Have(os.ReadFile(fresh))), read(picture), 0.2/500, 500), picture)
		}

		var listed []string
		for _, line := range regexp.MustCompile("(?m)^- (.+?): `.+`$").FindAllStringSubmatch(section, -1) {
			listed = append(listed, line[1])
		}
		assert.Equal(t, known, listed, "laws of %s", m.name)
		if len(unknown) > 0 {
			assert.Contains(t, section, "\nNo law is known over "+strings.Join(unknown, ", ")+".\n")
		} else {
			assert.NotContains(t, section, "No law")
		}
		row := fmt.Sprintf("| [%s](%s.md#%s) |", m.name, m.page, anchor)
		for _, e := range pageEnsembles {
			switch {
			case slices.Contains(known, e.String()):
				row += " ✓ |"
			case slices.Contains(unknown, e.String()):
				row += " — |"
			default:
				row += "  |"
			}
		}
		assert.Contains(t, index, row+"\n")
	}
	notations := make(map[string]bool)
	for _, path := range must.Have(filepath.Glob(folder + "/[a-z]*.md")) {
		page := read(filepath.Base(path))
		sections -= strings.Count(page, "\n## ") - 1
		_, notation, _ := strings.Cut(page, "\n## Notation\n")
		notations[notation] = true
	}
	assert.Zero(t, sections, "a page has a map that the test lacks")
	assert.Len(t, notations, 1, "pages have different notations")
	assert.Len(t, must.Have(filepath.Glob(folder+"/*.svg")), len(mappings()))
	for _, name := range registry.Names[orf.Ensemble]() {
		assert.True(t, slices.ContainsFunc(pageEnsembles, func(e orf.Ensemble) bool { return reflect.TypeOf(e).Name() == name }), "pages lack %s", name)
	}
}

var numeral = regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]\d+)?`)

// differ returns how two texts differ: a text between numbers, or a number by more than the
// tolerance times its size, or times least where the number is smaller.
func differ(a, b string, tolerance, least float64) string {
	if numeral.ReplaceAllString(a, "#") != numeral.ReplaceAllString(b, "#") {
		return "the text"
	}
	others := numeral.FindAllString(b, -1)
	for i, s := range numeral.FindAllString(a, -1) {
		v, _ := strconv.ParseFloat(s, 64)
		w, _ := strconv.ParseFloat(others[i], 64)
		if !(math.Abs(v-w) <= tolerance*max(least, math.Abs(v))) {
			return s + " and " + others[i]
		}
	}
	return ""
}

func TestDiffer(t *testing.T) {
	assert.Empty(t, differ("a 0.1234 b", "a 0.1235 b", 1.1e-3, 0))
	assert.NotEmpty(t, differ("a 0.1234 b", "a 0.1237 b", 1.1e-3, 0))
	assert.NotEmpty(t, differ("a 1e-05 b", "a 2e-05 b", 1.1e-3, 0))
	assert.Equal(t, "the text", differ("a 1 b", "a 1 c", 1, 1))
	assert.Equal(t, "the text", differ("a 1 2 b", "a 1 b", 1, 1))
}
