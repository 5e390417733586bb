package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image"
	_ "image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
)

// records runs the program for its CSV file, a map by column a record.
func records(t *testing.T, args ...string) []map[string]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "v.csv")
	clitest.Output(t, run, append(args, "-plot", "", "-csv", path)...)
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	var all []map[string]string
	for _, line := range lines[1:] {
		r := make(map[string]string)
		for i, v := range line {
			r[lines[0][i]] = v
		}
		all = append(all, r)
	}
	return all
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return v
}

// Under other seeds one of the 160 laws would be missed by 4 standard errors with
// a probability of 1 %.
func TestLawsHold(t *testing.T) {
	rs := records(t, "-d", "8", "-draws", "300", "-norm", "0.6", "-pairs", "4")
	require.Len(t, rs, len(estimators)*4*6)
	laws := 0
	for _, r := range rs {
		at := strings.Join([]string{r["estimator"], r["frequencies"], r["m"]}, " ")
		dot := r["kernel"] == "dot" && r["frequencies"] != "Sobol"
		if r["frequencies"] == "iid" || dot {
			assert.NotEmpty(t, r["law"], at)
		}
		if r["frequencies"] == "Sobol" || !dot && slices.Contains([]string{"Hadamard", "Givens"}, r["frequencies"]) {
			assert.Empty(t, r["law"], at)
			assert.Empty(t, r["z"], at)
		}
		if r["law"] != "" {
			laws++
			assert.Less(t, math.Abs(number(t, r["z"])), 4.0, at)
			assert.InDelta(t, number(t, r["z"]), (number(t, r["mse"])-number(t, r["law"]))/number(t, r["mse_stderr"]), 1e-9, at)
		}
		if r["frequencies"] == "iid" {
			assert.Equal(t, "1", r["ratio"])
		}
		if r["m"] == "8" && r["frequencies"] == "Gram–Schmidt" && r["map"] != "sderf" {
			assert.Less(t, number(t, r["ratio"]), 1+4*number(t, r["ratio_stderr"]), "%s: orthogonal frequencies save", at)
		}
	}
	assert.Equal(t, 160, laws)
}

// A run of all maps ends after a line for each: errors at m = d and their ratios, and
// how far the worst measurement is from its law.
func TestSummary(t *testing.T) {
	args := []string{"-projection", "iid,gram-schmidt,sobol", "-d", "2", "-draws", "20", "-plot", ""}
	out := clitest.Output(t, run, args...)
	assert.LessOrEqual(t, strings.Count(out, "\n"), 25)
	rs := records(t, args[:6]...)
	worst, laws := 0.0, 0
	for _, r := range rs {
		if r["z"] != "" {
			worst = math.Max(worst, math.Abs(number(t, r["z"])))
			laws++
		}
		if r["m"] == "2" && r["frequencies"] == "Gram–Schmidt" {
			assert.Regexp(t, regexp.QuoteMeta(r["estimator"])+` .* × `+fmt.Sprintf("%.3f", number(t, r["ratio"])), out)
		}
	}
	assert.Contains(t, out, fmt.Sprintf("%d of %d measurements have an exact law", laws, len(rs)))
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
	table, err := s.measure(exprand.NewSource(1))
	require.NoError(t, err)
	f, err := s.picture(table)
	require.NoError(t, err)
	require.Len(t, f.Panels, 9)
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
		{"-kernel dot -draws 2 -d 2 -plot= -csv " + dir, "a folder, want a file in a folder"},
	} {
		var stdout bytes.Buffer
		err := run(strings.Fields(c.args), &stdout)
		assert.ErrorContains(t, err, c.want, c.args)
	}
}
