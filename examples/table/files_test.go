package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
)

// file writes a table of n lines under a head and returns its path.
func file(t *testing.T, head string, n int, line func(i int) string) string {
	path := filepath.Join(t.TempDir(), "mine.csv")
	text := head + "\n"
	for i := range n {
		text += line(i) + "\n"
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// learnFile returns what the program prints from the report on.
func learnFile(t *testing.T, path string, args ...string) (all, report string) {
	all = clitest.Output(t, run, append([]string{"-data", path, "-target", "y"}, args...)...)
	_, report, found := strings.Cut(all, "rows, ")
	require.True(t, found)
	return all, report
}

// A first column without a name, as R and pandas write it, is left out.
func TestNamesOfRows(t *testing.T) {
	line := func(i int) string { return fmt.Sprintf("%d,%d", i*i%31, i*i%31+i%2) }
	_, want := learnFile(t, file(t, "x,y", 40, line))
	for _, c := range []struct{ head, format string }{{",x,y", "%d,%s"}, {`"","x","y"`, `"row %d",%s`}} {
		all, report := learnFile(t, file(t, c.head, 40, func(i int) string { return fmt.Sprintf(c.format, i, line(i)) }))
		assert.Regexp(t, `(?m)^"" +names of rows +left out +0$`, all)
		before, _, _ := strings.Cut(want, "Read back")
		after, _, _ := strings.Cut(report, "Read back")
		assert.Equal(t, before, after)
	}
}

// A file with another character between values has an error that names the character, and is learnt
// with it. Beside semicolons numbers may have decimal commas.
func TestSeparators(t *testing.T) {
	for _, c := range []struct{ comma, flag, point string }{{";", ";", ","}, {"\t", `\t`, "."}, {"|", "|", "."}} {
		path := file(t, "x"+c.comma+"y", 40, func(i int) string {
			return fmt.Sprintf("%d%s5%s%d%s25", i*i%31, c.point, c.comma, i, c.point)
		})
		err := run([]string{"-data", path, "-target", "y"}, io.Discard)
		assert.ErrorContains(t, err, fmt.Sprintf("has no ',' between names, want -comma %q", []rune(c.comma)[0]))
		all, _ := learnFile(t, path, "-comma", c.flag)
		assert.Regexp(t, `x +number +x`, all)
		assert.Contains(t, all, "RMSE at 32 held-out rows")
	}
	path := file(t, "x,y", 40, func(i int) string { return fmt.Sprintf("%d,%d", i, i) })
	assert.ErrorContains(t, run([]string{"-data", path, "-target", "y", "-comma", ";"}, io.Discard), `line 1: "x,y" has no ';' between names, want -comma ','`)
	assert.ErrorContains(t, run([]string{"-data", path, "-target", "y", "-comma", ";;"}, io.Discard), `want one character`)
	assert.ErrorContains(t, run([]string{"-comma", ";"}, io.Discard), "-classes or -comma without -data")
}

// Numbers that may be classes are learnt as numbers with a note, or as classes with -classes, in
// the order of the numbers.
func TestNumbersThatMayBeClasses(t *testing.T) {
	for _, c := range []struct {
		first, classes int
		note           string
	}{{0, 2, "y is whole numbers from 0 to 1, learnt as numbers. For classes, use -classes."}, {1, 11, "y is whole numbers from 1 to 11"}, {2, 3, ""}, {1, 30, ""}} {
		path := file(t, "x,y", 120, func(i int) string { return fmt.Sprintf("%d,%d", i%c.classes, c.first+i%c.classes) })
		all, _ := learnFile(t, path)
		assert.Equal(t, c.note != "", strings.Contains(all, "use -classes"), all)
		assert.Contains(t, all, c.note)
		assert.Contains(t, all, "RMSE")
	}
	path := file(t, "x,y", 120, func(i int) string { return fmt.Sprintf("%d,%d", i%11, 1+i%11) })
	all, _ := learnFile(t, path, "-classes")
	assert.NotContains(t, all, "use -classes")
	assert.Regexp(t, `y: 1 .* %, 2 .* %, 3 .* %, .*, 10 .* %, 11 .* %`, all)
}

// Targets of any size are printed with digits.
func TestTargetsOfAnySize(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all, _ := learnFile(t, file(t, "x,y", 60, func(i int) string {
		return fmt.Sprintf("%d,%v", i, 0.001*(math.Sin(float64(i)/9)+0.1*rng.NormFloat64()))
	}))
	assert.Regexp(t, `RMSE 0\.000\d\d+ ± 0\.0000\d\d, .* mean width of bands 0\.000\d\d\d`, all)
	assert.Regexp(t, `y: -?0\.\d+ ± 0\.000\d\d; measured`, all)
	for want, c := range map[string][2]float64{
		"24.55 ± 0.93": {24.5512, 0.9312}, "460 ± 38": {459.96, 37.52}, "0.00100 ± 0.00012": {0.001, 0.00012}, "123457 ± 890": {123456.7, 890.1},
		"5 ± 0": {5, 0}, "1.2e+12 ± 3e+10": {1.2e12, 3e10}, "-0.0012 ± 0.0035": {-0.00123, 0.00351}, "2e-09 ± 1e-10": {2e-9, 1e-10},
	} {
		assert.Equal(t, want, plusMinus(c[0], c[1]))
	}
}

// A class that only held-out rows have counts as wrong. A class that one row to learn from has is
// learnt.
func TestClassesThatRowsLack(t *testing.T) {
	path := file(t, "x,y", 60, func(i int) string {
		switch {
		case i == 20:
			return "20,once"
		case i > 56:
			return fmt.Sprintf("%d,late", i%7)
		}
		return fmt.Sprintf("%d,%c", i%7, 'a'+i%7/4)
	})
	all, _ := learnFile(t, path, "-last")
	assert.Regexp(t, `At the 12 rows held out: log-loss \d\.\d+, 75.0 % of the classes right; no row to learn from has the class of 3 of the rows, which count as wrong`, all)
	assert.Regexp(t, `y: a \d+\.\d %, b \d+\.\d %, once \d\.\d %`, all)
	path = file(t, "x,y", 60, func(i int) string {
		return fmt.Sprintf("%d,%c", i%7, 'a'+i/48+map[bool]int{true: 5}[i%7 < 3 && i < 48])
	})
	all, _ = learnFile(t, path, "-last")
	assert.Contains(t, all, "At the 12 rows held out: 0.0 % of the classes right; no row to learn from has the class of 12 of the rows")
}
