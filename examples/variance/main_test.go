package main

import (
	"bytes"
	"fmt"
	"image"
	_ "image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
)

// measured returns the options and the rows of a run with the given flags.
func measured(t *testing.T, args ...string) (options, []measurement) {
	t.Helper()
	o, _, err := parse(args, io.Discard)
	require.NoError(t, err)
	rows, err := o.measure(exprand.NewSource(o.seed))
	require.NoError(t, err)
	return o, rows
}

func TestNames(t *testing.T) {
	x := dense.Of(2, 2, []float64{1, 0.5, -0.5, 1})
	specs, err := specsOf(x, x)
	require.NoError(t, err)
	assert.Equal(t, specNames, namesOf(specs))
}

// Points are short, because errors of softmax features of long points have heavy tails, whose
// standard errors are too small after 300 draws.
func TestLawsHold(t *testing.T) {
	_, rows := measured(t, "-d", "8", "-draws", "300", "-norm", "0.3", "-pairs", "4")
	require.Len(t, rows, len(specNames)*4*6)
	laws := 0
	for _, r := range rows {
		at := fmt.Sprintf("%s %s %d", r.spec, r.Name, r.m)
		dot := r.spec == "DotProduct" && r.Name != "Halton"
		if r.Name == "IID" || dot {
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
		if r.m == 8 && r.Name == "GramSchmidt" && r.spec != "SDERF" {
			assert.Less(t, r.Ratio, 1+4*r.RatioStdErr, "%s: orthogonal frequencies save", at)
		}
	}
	assert.Equal(t, 120, laws)
}

// A run of all maps ends after a line for each: errors at m = d and their ratios, and
// how far the worst measurement is from its law.
func TestSummary(t *testing.T) {
	args := []string{"-frequencies", "IID,GramSchmidt,Halton", "-d", "2", "-draws", "20", "-plot", ""}
	out := clitest.Output(t, run, args...)
	assert.LessOrEqual(t, strings.Count(out, "\n"), 25)
	_, rows := measured(t, args...)
	worst, laws := 0.0, 0
	for _, r := range rows {
		if z := math.Abs(r.z()); !math.IsNaN(z) {
			worst = math.Max(worst, z)
			laws++
		}
		if r.m == 2 && r.Name == "GramSchmidt" {
			assert.Regexp(t, r.spec+` .* × `+fmt.Sprintf("%.3f", r.Ratio), out)
		}
	}
	assert.Contains(t, out, fmt.Sprintf("%d of %d measurements have an exact law", laws, len(rows)))
	assert.Contains(t, out, fmt.Sprintf("%.1f standard errors off", worst))
}

func TestSeedDecides(t *testing.T) {
	args := []string{"-map", "SoftmaxTrig,SADERF", "-d", "4", "-draws", "20", "-plot", ""}
	first := clitest.Output(t, run, args...)
	assert.Equal(t, first, clitest.Output(t, run, args...))
	assert.NotEqual(t, first, clitest.Output(t, run, append(args, "-seed", "2")...))
}

// One picture has a panel for each map, with points and the line of the law.
func TestPicture(t *testing.T) {
	o, rows := measured(t, "-map", "SoftmaxTrig,SoftmaxPositive,DotProduct", "-frequencies", "IID,Hadamard", "-d", "4", "-pairs", "2", "-draws", "30",
		"-plot", filepath.Join(t.TempDir(), "v.png"))
	f := o.picture(rows)
	require.Len(t, f.Panels, 3)
	assert.True(t, f.LogX && f.LogY && f.OwnY)
	positive := f.Panels[1]
	assert.Equal(t, "SoftmaxPositive", positive.Title)
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
	err := run([]string{"-map", "SoftmaxPositive", "-d", "1", "-norm", "40", "-draws", "5", "-plot", path}, &stdout)
	assert.ErrorContains(t, err, "no point to draw")
	assert.NoFileExists(t, path)
}

// In R¹ an angle is 0 or π and sign features are exact: no spread, no ratio.
func TestExactEstimates(t *testing.T) {
	out := clitest.Output(t, run, "-map", "Angular", "-d", "1", "-draws", "5", "-plot", "")
	assert.NotContains(t, out, "NaN")
	assert.NotContains(t, out, "Inf")
}

func TestHelp(t *testing.T) {
	out := clitest.Output(t, run, "-h")
	for _, want := range append(append(namesOf(ensembles), specNames...), "-draws", "-seed", "variance.png", "exact law") {
		assert.Contains(t, out, want)
	}
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"-map cubic", "-map cubic: want some of Gaussian,SoftmaxTrig"},
		{"-frequencies IID,sparse", "-frequencies sparse: want some of IID,GramSchmidt"},
		{"extra", "unexpected argument"},
		{"-map DotProduct -draws 2 -d 2 -plot " + dir, "ending \"\", want a file in a folder"},
	} {
		var stdout bytes.Buffer
		err := run(strings.Fields(c.args), &stdout)
		assert.ErrorContains(t, err, c.want, c.args)
	}
}
