package main

import (
	"bytes"
	"encoding/csv"
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
	"github.com/seed-feabd252/randfeat/table"
)

// quick are arguments for a short run.
var quick = []string{"-rows", "60"}

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

func read(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// predicted returns the lines of numbers that -predict prints, after their head.
func predicted(t *testing.T, head string, args ...string) [][]string {
	all, err := csv.NewReader(strings.NewReader(clitest.Output(t, run, args...))).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, head, strings.Join(all[0], ","))
	return all[1:]
}

// The same seed prints the same. The model in the file predicts the houses, and has the errors that
// it had when it was learnt.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	houses, model := filepath.Join(dir, "houses.csv"), filepath.Join(dir, "price.model")
	args := append([]string{"-log", "area", "-houses", houses, "-out", model, "-last"}, quick...)
	out := clitest.Output(t, run, args...)
	assert.Equal(t, out, clitest.Output(t, run, args...))
	assert.Regexp(t, `area +number +log x`, out)
	assert.Regexp(t, `address +text +left out`, out)
	assert.Regexp(t, `<- [01]\.\d\d of the mixture`, out)

	lines := strings.SplitAfter(read(t, houses), "\n")
	last := filepath.Join(dir, "last.csv")
	require.NoError(t, os.WriteFile(last, []byte(lines[0]+strings.Join(lines[49:], "")), 0o600))
	score := clitest.Output(t, run, "-model", model, "-score", last)
	errors, found := strings.CutPrefix(score, "At 12 rows: ")
	require.True(t, found)
	assert.Contains(t, out, "At the 12 rows held out: "+errors)
	assert.Len(t, predicted(t, "price,price 0.05,price 0.95", "-model", model, "-predict", last), 12)

	page := filepath.Join(dir, "a.html")
	assert.Regexp(t, `(?m)^column +rise of the mean loss\n(.*\n)*area +\d+ ± \d`, clitest.Output(t, run, "-model", model, "-explain", last, "-html", page))
	shown := read(t, page)
	for _, want := range []string{"<b>RMSE ", "12 rows with all targets", "log x, missing", "Without a value of ", `alt="Predicted against measured targets"`} {
		assert.Contains(t, shown, want)
	}
	assert.Equal(t, 2+6+1, strings.Count(shown, `src="data:image/png;base64,iVBOR`))
	assert.Regexp(t, `(<tr><td>\d+</td><td>[^<]+</td><td>[^<]+, from [^<]+ to [^<]+</td><td>[^<]+</td></tr>\n){10}</table>`, shown, "rows with the largest losses")

	mine := clitest.Output(t, run, "-data", houses, "-target", "price", "-category", "rooms", "-skip", "agent,photos")
	assert.Regexp(t, `rooms +category`, mine)
	assert.Regexp(t, `agent +skipped +left out`, mine)
	assert.NotContains(t, mine, "The model is in")
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

// The model comes nearer to the noise than the mean does, and its bands hold what they say. 50 rows
// held out make a standard error of 4 % in 90 %.
func TestErrorsComeNearTheNoise(t *testing.T) {
	src := rand.NewPCG(1, 2)
	var b bytes.Buffer
	require.NoError(t, writeHouses(&b, 250, src))
	all, err := table.Read(&b, table.ReadOptions{})
	require.NoError(t, err)
	rest, held := all.Split(0.2, src)
	m, err := table.Fit(t.Context(), rest, []string{"price"}, table.Options{}, src)
	require.NoError(t, err)
	scores, err := m.Score(held)
	require.NoError(t, err)
	s := scores["price"]
	assert.Less(t, s.RMSE, 2.2*noise, "what is missing costs some")
	assert.Less(t, 3*s.RMSE, s.Deviation)
	assert.InDelta(t, 0.9, s.Inside, 4*math.Sqrt(0.09/50))
}

// A target of texts between tabs has probabilities of classes.
func TestClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	path := file(t, "a\tb\tkind", 100, func(int) string {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		kind := "left"
		if a > 0 {
			kind = []string{"below", "<above>, right"}[min(1, max(0, int(b+1)))]
		}
		return fmt.Sprintf("%v\t%v\t%s", a, b, kind)
	})
	model, page := filepath.Join(t.TempDir(), "kind.model"), filepath.Join(t.TempDir(), "a.HTML")
	out := clitest.Output(t, run, "-data", path, "-comma", `\t`, "-target", "kind", "-out", model, "-html", page)
	assert.Regexp(t, `At the 20 rows held out: log-loss 0\.\d+ ± 0.\d+, (100|[89]\d)\.\d % of the classes right`, out)
	known := file(t, "b,a,kind", 30, func(i int) string {
		return []string{`3,3,"<above>, right"`, "-3,3,below", "0,-2,left", "0,-3,<new>"}[max(i-26, 0)]
	})
	clitest.Output(t, run, "-model", model, "-explain", known, "-html", page)
	shown := read(t, page)
	assert.NotContains(t, shown, "<above>")
	assert.Equal(t, 2+2, strings.Count(shown, `src="data:image/png;base64,iVBOR`))
	for _, want := range []string{
		`(?s)&lt;above&gt;, right</th><td[^>]*, 1\)">27</td><td[^>]*, 0\)">0</td><td[^>]*>0</td><td class="n">1.00`,
		`<th>unknown</th><td[^>]*>0</td><td[^>]*>0</td><td[^>]*>1</td><td class="n">0.00`,
		`<td>31</td><td>unknown</td><td>left with probability 0\.\d+</td><td>&#43;Inf</td>`,
	} {
		assert.Regexp(t, want, shown)
	}
	row := file(t, "b;a", 1, func(int) string { return "0,5;-1,5" })
	got := predicted(t, "<above>, right,below,left", "-model", model, "-comma", ";", "-predict", row)
	require.Len(t, got, 1)
	assert.Regexp(t, `^0\.9\d*$`, got[0][2])
}

func TestErrors(t *testing.T) {
	path := file(t, "size,kind,y", 40, func(i int) string { return fmt.Sprintf("%d,%c,%d", i%17, 'a'+i%2, 3*i%11) })
	model := filepath.Join(t.TempDir(), "y.model")
	clitest.Output(t, run, "-data", path, "-target", "y", "-out", model)
	for args, want := range map[string]string{
		"-target y":       `-target ["y"] without -data`,
		"-data main.go":   "-data without -target",
		"-comma ;":        "-classes or -comma without -data",
		"-comma ;;":       "want one character",
		"-model " + model: "-predict, -score and -explain need -model, and -model needs one of them",
		"-html a.html -model " + model + " -score PATH": "-html with -model needs -explain",
		"-predict main.go":                    "-predict, -score and -explain need -model",
		"-rows 40 -skip no":                   `houses: table: an option has "no"`,
		"-rows 40 -group no":                  `houses: table: no column "no" among`,
		"-data PATH -target y -time kind":     `mine.csv: table: line 2, column "kind": "a" is not a number or a date`,
		"-data PATH -target y -weight kind":   `is not a weight, a number from 0 on`,
		"-data PATH -target cost":             `mine.csv: table: no column "cost" to predict among`,
		"-data PATH -target y,y":              `table: the target "y" is there twice`,
		"-data PATH -target y,kind":           `table: the target "kind" has classes, want no other target beside it in ["y" "kind"]`,
		"-data PATH -target y -comma ;":       `mine.csv: table: line 1, column 1: "size,kind,y" has no ';' between names`,
		"-model PATH -predict PATH":           "mine.csv: table: safetensors:",
		"-model main.go -score PATH":          "main.go: table: safetensors:",
		"-model " + model + " -predict BAD":   `bad.csv: table: line 3, column "size": "big" is not a finite number`,
		"-model " + model + " -score BAD":     `bad.csv: table: no column "y" to predict among ["size" "kind"]`,
		"-model " + model + " -score main.go": `main.go: table: `,
	} {
		bad := filepath.Join(t.TempDir(), "bad.csv")
		require.NoError(t, os.WriteFile(bad, []byte("size,kind\n1,a\nbig,b\n"), 0o600))
		args = strings.NewReplacer("PATH", path, "BAD", bad).Replace(args)
		assert.ErrorContains(t, run(strings.Fields(args), io.Discard), want, args)
	}
}

// A page has columns whose values are all missing or all rare.
func TestPageOfRareValues(t *testing.T) {
	text := func(i, every int, value string) string { return []string{"", value}[min(1, i%every)] }
	rows := file(t, "id,a,y", 60, func(i int) string {
		return text(i, 3, fmt.Sprintf("x%d", i)) + "," + text(i, 4, fmt.Sprint(i%7)) + "," + fmt.Sprint(i%7+i%3)
	})
	gone := file(t, "id,a,y", 40, func(i int) string { return fmt.Sprintf("z%d,,%d", i, i) })
	model, page := filepath.Join(t.TempDir(), "y.model"), filepath.Join(t.TempDir(), "a.html")
	clitest.Output(t, run, "-data", rows, "-target", "y", "-category", "id", "-out", model)
	clitest.Output(t, run, "-model", model, "-explain", gone, "-html", page)
	shown := read(t, page)
	assert.Contains(t, shown, "Without a value of a, ")
	assert.Equal(t, 1, strings.Count(shown, "Partial dependence on "))
}

// A terminal has one line of progress, which the next one replaces.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	show := progress(&b)
	show(1, 3, "linear")
	show(2, 3, "boxes")
	assert.Equal(t, "\r\x1b[K1 of 3 parts linear\r\x1b[K2 of 3 parts boxes", b.String())
}

func TestFullDisk(t *testing.T) {
	assert.EqualError(t, run(quick, clitest.Full{}), "disk full")
}
