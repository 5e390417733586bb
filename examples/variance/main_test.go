package main

import (
	"bytes"
	"fmt"
	"image"
	_ "image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
)

// measured returns the rows of a run with the given flags.
func measured(t *testing.T, o options) []measurement {
	t.Helper()
	s, err := o.study()
	require.NoError(t, err)
	src := exprand.NewSource(o.seed)
	s.x, s.y = o.points(src)
	rows, err := s.measure(src)
	require.NoError(t, err)
	return rows
}

// Under other seeds one of the 156 laws would be missed by 4 standard errors with
// a probability of 1 %.
func TestLawsHold(t *testing.T) {
	rows := measured(t, options{projection: "iid,gram-schmidt,simplex,hadamard,givens,halton", d: 8, draws: 300, norm: 0.6, pairs: 4, seed: 1})
	require.Len(t, rows, len(estimators)*4*6)
	laws := 0
	for _, r := range rows {
		at := fmt.Sprintf("%s %s %d", r.title, r.Name, r.m)
		dot := r.kernel == "dot" && r.Name != "Halton"
		if r.Name == "iid" || dot {
			assert.False(t, math.IsNaN(r.law), at)
		}
		if r.Name == "Halton" || !dot && slices.Contains([]string{"Hadamard", "Givens"}, r.Name) {
			assert.True(t, math.IsNaN(r.law), at)
			assert.True(t, math.IsNaN(r.z()), at)
		}
		if !math.IsNaN(r.law) {
			laws++
			assert.Less(t, math.Abs(r.z()), 4.0, at)
		}
		if r.m == 8 && r.Name == "Gram–Schmidt" && r.features != "sderf" {
			assert.Less(t, r.Ratio, 1+4*r.RatioStdErr, "%s: orthogonal frequencies save", at)
		}
	}
	assert.Equal(t, 156, laws)
}

// A run of all maps ends after a line for each: errors at m = d and their ratios, and
// how far the worst measurement is from its law.
func TestSummary(t *testing.T) {
	out := clitest.Output(t, run, "-projection", "iid,gram-schmidt,halton", "-d", "2", "-draws", "20", "-plot", "")
	assert.LessOrEqual(t, strings.Count(out, "\n"), 25)
	rows := measured(t, options{projection: "iid,gram-schmidt,halton", d: 2, draws: 20, norm: 0.7, pairs: 8, seed: 1})
	worst, laws := 0.0, 0
	for _, r := range rows {
		if z := math.Abs(r.z()); !math.IsNaN(z) {
			worst = math.Max(worst, z)
			laws++
		}
		if r.m == 2 && r.Name == "Gram–Schmidt" {
			assert.Regexp(t, regexp.QuoteMeta(r.title)+` .* × `+fmt.Sprintf("%.3f", r.Ratio), out)
		}
	}
	assert.Contains(t, out, fmt.Sprintf("%d of %d measurements have an exact law", laws, len(rows)))
	assert.Contains(t, out, fmt.Sprintf("%.1f standard errors off", worst))
}

func TestSeedDecides(t *testing.T) {
	args := []string{"-kernel", "softmax", "-d", "4", "-draws", "20", "-plot", ""}
	first := clitest.Output(t, run, args...)
	assert.Equal(t, first, clitest.Output(t, run, args...))
	assert.NotEqual(t, first, clitest.Output(t, run, append(args, "-seed", "2")...))
}

// One picture has a panel for each map, with points and the line of the law.
func TestPicture(t *testing.T) {
	o := options{kernel: "softmax,dot", projection: "iid,hadamard", d: 4, pairs: 2, norm: 0.5, draws: 30, plot: filepath.Join(t.TempDir(), "v.png")}
	s, err := o.study()
	require.NoError(t, err)
	s.x, s.y = o.points(exprand.NewSource(1))
	rows, err := s.measure(exprand.NewSource(1))
	require.NoError(t, err)
	f := s.picture(rows)
	require.Len(t, f.Panels, 8)
	assert.True(t, f.LogX && f.LogY && f.OwnY)
	positive := f.Panels[1]
	assert.Equal(t, "softmax, exp (FAVOR+)", positive.Title)
	require.Len(t, positive.Series, 2)
	iid, hadamard := positive.Series[0], positive.Series[1]
	require.Len(t, iid.Points, 4)
	assert.Equal(t, []float64{2, 4, 8, 16}, []float64{iid.Points[0].X, iid.Points[1].X, iid.Points[2].X, iid.Points[3].X})
	assert.InEpsilon(t, 8, iid.Line[0].Y/iid.Line[3].Y, 1e-9, "the law of independent frequencies falls as 1/m")
	for _, p := range hadamard.Line {
		assert.True(t, math.IsNaN(p.Y), "no law")
	}
	require.NoError(t, f.Save(o.plot))
	file, err := os.Open(o.plot)
	require.NoError(t, err)
	defer file.Close()
	_, _, err = image.Decode(file)
	require.NoError(t, err)
}

// At norm 40 the softmax kernel and its features are beyond float64.
func TestNothingToDraw(t *testing.T) {
	var stdout bytes.Buffer
	path := filepath.Join(t.TempDir(), "v.svg")
	err := run([]string{"-kernel", "softmax", "-map", "positive", "-d", "1", "-norm", "40", "-draws", "5", "-plot", path}, &stdout)
	assert.ErrorContains(t, err, "no point to draw")
	assert.NoFileExists(t, path)
}

// In R¹ an angle is 0 or π and sign features are exact: no spread, no ratio.
func TestExactEstimates(t *testing.T) {
	out := clitest.Output(t, run, "-kernel", "angular", "-d", "1", "-draws", "5", "-plot", "")
	assert.NotContains(t, out, "NaN")
	assert.NotContains(t, out, "Inf")
}

func TestHelp(t *testing.T) {
	out := clitest.Output(t, run, "-h")
	want := append(names(estimators, kernelOf), names(estimators, featuresOf)...)
	for _, want := range append(append(want, names(projections, projectionOf)...), "-draws", "-seed", "variance.png", "exact law") {
		assert.Contains(t, out, want)
	}
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"-kernel cubic", "-kernel cubic: want some of gaussian, softmax"},
		{"-map cubic", "-map cubic: want some of trig, positive"},
		{"-kernel dot -map trig", "-map trig: the kernels have linear"},
		{"-projection iid,sparse", "-projection sparse: want some of iid, gram-schmidt"},
		{"extra", "unexpected argument"},
		{"-kernel dot -draws 2 -d 2 -plot " + dir, "ending \"\", want a file in a folder"},
	} {
		var stdout bytes.Buffer
		err := run(strings.Fields(c.args), &stdout)
		assert.ErrorContains(t, err, c.want, c.args)
	}
}
