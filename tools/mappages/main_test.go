package main

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

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
		if !(math.Abs(v-w) <= tolerance*math.Max(least, math.Abs(v))) {
			return s + " and " + others[i]
		}
	}
	return ""
}

// TestEnsembles fails if the pages lack an ensemble.
func TestEnsembles(t *testing.T) {
	for _, name := range registry.Names[orf.Ensemble]() {
		assert.True(t, slices.ContainsFunc(ensembles, func(e orf.Ensemble) bool { return reflect.TypeOf(e).Name() == name }), name)
	}
}

// The checked-in pages are what the command writes: the same texts, numbers of four digits within
// one of the last, and places in pictures, which have about 500 units, within a fifth of a unit.
func TestPages(t *testing.T) {
	const committed = "../../docs/maps"
	fresh := t.TempDir()
	require.NoError(t, write(fresh))
	names := func(folder string) (all []string) {
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	require.Equal(t, names(fresh), names(committed), "go run ./tools/mappages writes them; remove what it no longer writes")
	for _, name := range names(fresh) {
		want, err := os.ReadFile(filepath.Join(fresh, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(committed, name))
		require.NoError(t, err)
		tolerance, least := 1.1e-3, 0.0
		if filepath.Ext(name) == ".svg" {
			tolerance, least = 0.2/500, 500
		}
		assert.Empty(t, differ(string(want), string(got), tolerance, least), "%s: go run ./tools/mappages", name)
	}
}

func TestDiffer(t *testing.T) {
	assert.Empty(t, differ("a 0.1234 b", "a 0.1235 b", 1.1e-3, 0))
	assert.NotEmpty(t, differ("a 0.1234 b", "a 0.1237 b", 1.1e-3, 0))
	assert.NotEmpty(t, differ("a 1e-05 b", "a 2e-05 b", 1.1e-3, 0))
	assert.Equal(t, "the text", differ("a 1 b", "a 1 c", 1, 1))
	assert.Equal(t, "the text", differ("a 1 2 b", "a 1 b", 1, 1))
}

// A formula without a law, and a law without a formula, are errors.
func TestFormulasAndLawsGoTogether(t *testing.T) {
	for _, laws := range []map[string]string{{}, {"IID": "1", "Halton": "2"}} {
		p := page{file: "p", maps: []mapping{{name: "Angular", spec: rff.Angular{}, laws: laws}}}
		_, err := p.render(t.TempDir(), nil)
		assert.ErrorContains(t, err, "a law is known")
	}
}

func TestExamplePair(t *testing.T) {
	x, y := points(angle)
	var xx, xy float64
	for i, v := range x {
		xx, xy = xx+v*v, xy+v*y[i]
	}
	assert.InDelta(t, 1, xx, 1e-15)
	assert.InDelta(t, 0.5, xy, 1e-15)
}
