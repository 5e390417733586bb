package gallery

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/validate/charts"
)

func figure() charts.Figure {
	return charts.Figure{Panels: []charts.Panel{{
		Title:  "one",
		Series: []charts.Series{{Name: "a", Points: []charts.Point{{X: 1, Y: 2, Err: 0.1}, {X: 2, Y: 1.0 / 3}}, Line: []charts.Point{{X: 1, Y: 5}, {X: 2, Y: 6}, {X: 3, Y: math.NaN()}}}},
		Levels: []charts.Level{{Name: "zero", Y: 3}},
	}}}
}

func TestOf(t *testing.T) {
	assert.Equal(t, []Number{
		{"one", "a", 1, 2, 0.1}, {"one", "a", 2, 1.0 / 3, 0}, {"one", "a, line", 1, 5, 0}, {"one", "a, line", 2, 6, 0}, {"one", "zero", 0, 3, 0},
	}, Of("x", figure()).Numbers)
}

// What was written is found again, and every number that has moved by more than it may is noticed.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	p := Of("x", figure())
	p.Relative, p.Absolute = 0.01, 0.001
	assert.ErrorIs(t, p.check(dir, t.TempDir(), false), os.ErrNotExist)
	require.NoError(t, p.check(dir, t.TempDir(), true))
	assert.NoError(t, p.check(dir, t.TempDir(), false))

	all := p.Numbers
	for _, c := range []struct {
		what   string
		change func(n []Number) []Number
		timed  bool
		same   bool
	}{
		{what: "a little", change: func(n []Number) []Number { n[0].Y, n[0].Err = 2.02, 0.12; return n }, same: true},
		{what: "y", change: func(n []Number) []Number { n[0].Y = 2.03; return n }},
		{what: "the error", change: func(n []Number) []Number { n[0].Err = 0.13; return n }},
		{what: "x", change: func(n []Number) []Number { n[1].X = 2.1; return n }},
		{what: "a time", change: func(n []Number) []Number { n[1].X = 2.1; return n }, timed: true, same: true},
		{what: "a name", change: func(n []Number) []Number { n[1].Series = "b"; return n }, timed: true},
		{what: "a panel", change: func(n []Number) []Number { n[1].Panel = "b"; return n }},
		{what: "one more", change: func(n []Number) []Number { return append(n, Number{}) }},
		{what: "one less", change: func(n []Number) []Number { return n[1:] }},
	} {
		p.Numbers, p.Timed = c.change(slices.Clone(all)), c.timed
		err := p.check(dir, t.TempDir(), false)
		assert.Equal(t, c.same, err == nil, "%s: %v", c.what, err)
		if !c.same {
			assert.ErrorContains(t, err, "RANDFEAT_DOCS=draw", c.what)
		}
	}
	p.Numbers = all
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.png"), []byte("no picture"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.csv"), nil, 0o600))
	_, err := read(filepath.Join(dir, "x.csv"))
	assert.EqualError(t, err, filepath.Join(dir, "x.csv")+" has no numbers")
	assert.ErrorContains(t, p.check(dir, t.TempDir(), false), "x.png")
}
