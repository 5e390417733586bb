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
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// quick are arguments for a short run.
var quick = []string{"-rows", "60"}

// The same seed prints the same.
func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	args := append([]string{"-log", "area", "-out", dir}, quick...)
	out := clitest.Output(t, run, args...)
	assert.Equal(t, out, clitest.Output(t, run, args...))
	assert.Regexp(t, `area +number +log x`, out)
	assert.Regexp(t, `address +text +left out`, out)
	assert.Equal(t, 1, strings.Count(out, "<- chosen"))
	assert.Regexp(t, `price: \d+ ± \d\d+; measured: \d+`, out)
	for _, name := range []string{"houses.csv", columnsFile, modelFile} {
		assert.FileExists(t, filepath.Join(dir, name))
	}

	mine := clitest.Output(t, run, "-data", filepath.Join(dir, "houses.csv"), "-target", "price", "-category", "rooms", "-skip", "agent,photos",
		"-last", "-row", "here,Nowhere,1,NA,?,3,,,A,2")
	assert.Regexp(t, `rooms +category`, mine)
	assert.Regexp(t, `agent +skipped +left out`, mine)
	assert.Contains(t, mine, "here,Nowhere,1,NA,?,3,,,A,2\n    price: ")
	assert.NotContains(t, mine, "measured")
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

// The served model comes nearer to the noise than the linear one does, and its bands hold what they
// say. 50 rows held out make a standard error of 4 % in 90 %. What is read back predicts raw rows
// as the model does.
func TestErrorsComeNearTheNoise(t *testing.T) {
	src, dir := rand.NewPCG(1, 2), t.TempDir()
	path := filepath.Join(dir, "houses.csv")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, writeHouses(file, 250, src))
	require.NoError(t, file.Close())
	table, err := readTable(path, ',')
	require.NoError(t, err)
	d, err := settings{target: "price"}.prepare(table, src)
	require.NoError(t, err)
	found, err := automl.Fit(t.Context(), d.train, automl.Options{}, src)
	require.NoError(t, err)
	served, mean, inside := d.compare(found)
	assert.Less(t, served, 2.2*noise, "what is missing costs some")
	assert.Less(t, 3*served, mean)
	assert.InDelta(t, 0.9, inside, 4*math.Sqrt(0.09/50))
	assert.Contains(t, d.errors(found), fmt.Sprintf("RMSE %.1f ± ", served))

	require.NoError(t, writeModel(dir, found, d.encoder))
	s, err := readModel(dir)
	require.NoError(t, err)
	center, half := found.Model.Band(d.test.X, 0.9)
	for i, r := range d.heldOut[:20] {
		got, err := s.predict(strings.Join(table.names, ",")+"\n"+strings.Join(table.rows[r], ","), ',')
		require.NoError(t, err)
		assert.Equal(t, plusMinus(center.At(i, 0), half.At(i, 0)), got)
	}
}

// compare returns the errors of a model and of the mean at held-out rows, and the share in the
// bands.
func (d *data) compare(found *automl.Result[float64]) (served, mean, inside float64) {
	center, half := found.Model.Band(d.test.X, 0.9)
	level := stat.Mean(d.train.Y.Data, nil)
	n := float64(d.test.Y.Rows)
	for i, y := range d.test.Y.Data {
		e := y - center.At(i, 0)
		served += e * e / n
		mean += (y - level) * (y - level) / n
		if math.Abs(e) <= half.At(i, 0) {
			inside += 1 / n
		}
	}
	return math.Sqrt(served), math.Sqrt(mean), inside
}

// A target of texts has probabilities, also when the model is read back.
func TestClasses(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,b,kind\n")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		a, c := rng.NormFloat64(), rng.NormFloat64()
		fmt.Fprintf(&b, "%v,%v,%s\n", a, c, []string{"left", "right, above", "right, below"}[map[bool]int{true: 0, false: 1 + map[bool]int{true: 0, false: 1}[c > 0]}[a < 0]])
	}
	path := filepath.Join(t.TempDir(), "mine.csv")
	require.NoError(t, os.WriteFile(path, []byte(strings.NewReplacer("right, above", "above", "right, below", "below").Replace(b.String())), 0o600))
	out := clitest.Output(t, run, "-data", path, "-target", "kind", "-row", "-1,0")
	assert.Regexp(t, `At the 20 rows held out: log-loss 0\.\d+, (100|[89]\d)\.\d % of the classes right`, out)
	assert.Regexp(t, `kind: above \d\.\d %, below \d\.\d %, left 9\d\.\d %`, out)
}

// What stands in rows that are held out changes neither the encoding nor the points of other rows.
func TestNothingIsLearntFromRowsHeldOut(t *testing.T) {
	prepare := func(last string) *data {
		table, err := parseTable(strings.NewReader(lines(80, strings.Repeat(last, 20))), ',')
		require.NoError(t, err)
		d, err := settings{target: "price", last: true}.prepare(table, rand.NewPCG(1, 2))
		require.NoError(t, err)
		require.Len(t, d.heldOut, 20)
		return d
	}
	one, other := prepare("x,NA,new,1e6\n"), prepare("x,1e9,a,0\n")
	assert.Equal(t, one.encoder, other.encoder)
	assert.Equal(t, one.train, other.train)
	assert.NotEqual(t, one.test, other.test)
	assert.Equal(t, isNumber, one.encoder.Columns[1].Kind)
}

// lines returns n lines of a small table under a head, with a line put in at the end.
func lines(n int, last string) string {
	var b strings.Builder
	b.WriteString("id,size,kind,price\n")
	for i := range n {
		fmt.Fprintf(&b, "n%d,%d,%c,%d\n", i, 1+i*i%17, 'a'+i%2, 3*i%11)
	}
	return b.String() + last
}

func TestPoints(t *testing.T) {
	text := strings.ReplaceAll(lines(40, "x,NA,rare,1\nx,3,,2\nx,4,a,n/a\n"), "n7,", "\"n\n7\",")
	table, err := parseTable(strings.NewReader("\ufeff"+text), ',')
	require.NoError(t, err)
	assert.Equal(t, []int{2, 11}, []int{table.lines[0], table.lines[8]}, "a value of two lines counts as two")
	var rows []int
	for i := range table.rows {
		rows = append(rows, i)
	}
	e, err := settings{target: "price", log: []string{"size"}}.encoding(table, 3, rows)
	require.NoError(t, err)
	require.Equal(t, 6, e.width())
	kinds := map[string]string{}
	for _, c := range e.Columns {
		kinds[c.Name] = c.Kind
	}
	assert.Equal(t, map[string]string{"id": isText, "size": isNumber, "kind": isCategory}, kinds)
	names := []string{"kind", "size"} // without the text and the target
	x := make([]float64, 6)
	mean := e.Columns[1].Mean
	assert.InDelta(t, 2, mean, 1)
	for row, want := range map[[2]string][]float64{
		{"a", ""}:     {mean, 1, 1, 0, 0, 0},
		{"b", "NaN"}:  {mean, 1, 0, 1, 0, 0},
		{"rare", "?"}: {mean, 1, 0, 0, 1, 0},
		{"new", "NA"}: {mean, 1, 0, 0, 1, 0},
		{"", "null"}:  {mean, 1, 0, 0, 0, 1},
	} {
		x[0] = 7 // is written over
		require.NoError(t, e.encode(x, names, row[:], 2))
		assert.Equal(t, want, x, row)
	}
	require.NoError(t, e.encode(x, names, []string{"a", "9"}, 2))
	assert.InDelta(t, math.Log(9), x[0], 1e-12)
	assert.EqualError(t, e.encode(x, names, []string{"a", "many"}, 2), `line 2, column "size": "many" is not a finite number, as most are there (-category or -skip?)`)
	assert.EqualError(t, e.encode(x, names[:1], []string{"a"}, 2), `no column "size" among ["kind"]`)
}

// Columns that say nothing are left out; a column that is only there or not says that.
func TestColumnsThatDoNotVary(t *testing.T) {
	text := "one,same,none,equal,there,id,huge,y\n"
	for i := range 30 {
		text += fmt.Sprintf("7,a,,%s,%s,n%d,%de306,%d\n", []string{"5", "5.0"}[i%2], []string{"5", ""}[i%2], i, i, i)
	}
	table, err := parseTable(strings.NewReader(text), ',')
	require.NoError(t, err)
	rows := make([]int, 30)
	for i := range rows {
		rows[i] = i
	}
	e, err := settings{target: "y", skip: []string{"huge"}, category: []string{"id"}}.encoding(table, 7, rows)
	require.NoError(t, err)
	assert.Equal(t, 2, e.width())
	x := make([]float64, 2)
	require.NoError(t, e.encode(x, table.names, table.rows[1], 3))
	assert.Equal(t, []float64{5, 1}, x)
	_, err = settings{target: "y"}.encoding(table, 7, rows)
	assert.ErrorContains(t, err, `column "huge": the mean of the numbers is +Inf`)
}

// Most rows of these tables are equal, or the target is an exact function: no step fails.
func TestPoorTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.csv")
	for name, row := range map[string]func(i int) string{
		"one category": func(i int) string { return []string{"a", "a", "a", "b"}[i%4] + fmt.Sprintf(",%d", i*i%7) },
		"sine":         func(i int) string { return fmt.Sprintf("%d,%v", i, math.Sin(float64(i)/5)) },
		"exact":        func(i int) string { return fmt.Sprintf("%d,%d", i, 3*i+1) },
		"missing":      func(i int) string { return []string{"NA", "1"}[i%2] + fmt.Sprintf(",%d", i*i%7) },
		"CRLF":         func(i int) string { return fmt.Sprintf("\"%d\",\t%d\r", i, i*i%7) },
	} {
		text := "x,y\n"
		for i := range 100 {
			text += row(i) + "\n"
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		assert.Contains(t, clitest.Output(t, run, "-data", path, "-target", "y"), "y: ", name)
	}
	none := "x,z,y\n"
	for i := range 100 {
		none += fmt.Sprintf(",%d,%d\n", i, i*i%7)
	}
	require.NoError(t, os.WriteFile(path, []byte(none), 0o600))
	assert.Regexp(t, `x +constant .* 80\n`, clitest.Output(t, run, "-data", path, "-target", "y"))
}

func TestErrorsOfFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.csv")
	for _, c := range []struct{ text, args, want string }{
		{lines(40, "x,12O,a,1\n"), "", `line 42, column "size": "12O" is not a finite number`},
		{lines(40, "x,Inf,a,1\n"), "", `line 42, column "size": "Inf" is not a finite number`},
		{lines(40, "x,1e999,a,1\n"), "", `line 42, column "size": "1e999" is not a finite number`},
		{lines(40, "x,0x10,a,1\n"), "", `line 42, column "size": "0x10" is not a finite number`},
		{lines(40, "x,1_0,a,1\n"), "", `line 42, column "size": "1_0" is not a finite number`},
		{lines(40, "x,-2,a,1\n"), "-log size", `line 42, column "size": "-2" is not a positive number`},
		{lines(40, "x,1,a,dear\n"), "", `line 42, column "price": "dear" is not a finite number, which most targets are`},
		{lines(40, "x,1,a\n"), "", "record on line 42: wrong number of fields"},
		{lines(40, "x,1,\"a,1\n"), "", "parse error on line 42"},
		{lines(40, "x,1,\xfc,1\n"), "", `line 42, column 3: "\xfc" is not UTF-8`},
		{lines(20, ""), "", "20 rows with a target, want at least 20 beside a fifth that is held out"},
		{lines(0, ""), "", "0 rows with a target"},
		{"a,price\n" + strings.Repeat("1,7\n2,7\n", 20), "", `column "price" is 7 in all rows to learn from`},
		{"", "", "no line with names"},
		{"a,,price\n", "", `line 1, column 2: the name is "", want a name that no other column has`},
		{"a,price,a\n", "", `line 1, column 3: the name is "a"`},
		{lines(40, ""), "-target cost", `no column "cost" to predict among ["id" "size" "kind" "price"]`},
		{lines(40, ""), "-skip ID", `-skip or -log "ID", want columns other than the target among`},
		{lines(40, ""), "-skip price", `-skip or -log "price", want columns other`},
		{lines(40, ""), "-skip size,kind", `no column of numbers or categories beside "price"`},
		{lines(40, ""), "-log kind", `-log: column "kind" is category, want numbers`},
		{lines(40, ""), "-row x,big,a", `the row to predict, after one with names: line 2, column "size": "big" is not a finite number`},
		{lines(40, ""), "-row x", "wrong number of fields"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		args := append([]string{"-data", path, "-target", "price"}, strings.Fields(c.args)...)
		assert.ErrorContains(t, run(args, io.Discard), c.want)
	}
	assert.ErrorContains(t, run([]string{"-data", path + "x", "-target", "y"}, io.Discard), "mine.csvx")
}

func TestErrorsOfFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-target y":         `-target "y" without -data`,
		"-data main.go":     "-data without -target",
		"-out main.go/x":    `-out "main.go/x": not a directory, want a folder`,
		"-rows 40 -skip no": `-skip or -log "no"`,
	} {
		assert.ErrorContains(t, run(strings.Fields(args), io.Discard), want)
	}
}

func TestFilesThatDoNotFit(t *testing.T) {
	dir := t.TempDir()
	clitest.Output(t, run, append([]string{"-out", dir}, quick...)...)
	path := filepath.Join(dir, columnsFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for old, instead := range map[string][2]string{
		`"Kind": "category"`: {`"Kind": "text"`, "columns of points, and model.safetensors has"},
		`"Kind": "number"`:   {`"Kind": "date"`, "columns of points, and model.safetensors has"},
		`"Target"`:           {`"Targets"`, "unknown field"},
	} {
		require.Contains(t, string(text), old)
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, instead[0])), 0o600))
		_, err := readModel(dir)
		assert.ErrorContains(t, err, instead[1])
	}
}

func TestFullDisk(t *testing.T) {
	assert.EqualError(t, run(quick, clitest.Full{}), "disk full")
}
