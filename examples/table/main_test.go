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

// quick are arguments for a run that takes no time.
var quick = []string{"-rows", "200", "-features", "16"}

// The same seed prints the same.
func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	args := append([]string{"-log", "area", "-out", dir}, quick...)
	out := clitest.Output(t, run, args...)
	assert.Equal(t, out, clitest.Output(t, run, args...))
	assert.Regexp(t, `area +number +\(log x − `, out)
	assert.Regexp(t, `address +text +left out`, out)
	assert.Equal(t, 2, strings.Count(out, "←"))
	assert.Equal(t, 1, strings.Count(out, ", served"))
	assert.Regexp(t, `price: \d+\.\d, standard deviation \d+\.\d; measured: \d+`, out)
	for _, name := range []string{"houses.csv", columnsFile, modelFile} {
		assert.FileExists(t, filepath.Join(dir, name))
	}

	mine := clitest.Output(t, run, "-data", filepath.Join(dir, "houses.csv"), "-target", "price", "-category", "rooms", "-skip", "agent,photos",
		"-features", "16", "-last", "-row", "here,Nowhere,1,NA,?,3,,,A,2")
	assert.Regexp(t, `rooms +category`, mine)
	assert.Regexp(t, `agent +skipped +left out`, mine)
	assert.Contains(t, mine, "here,Nowhere,1,NA,?,3,,,A,2\n    price: ")
	assert.NotContains(t, mine, "measured")
}

// The served model comes nearer to the noise than the linear one does, and its bands hold what they
// say. 400 rows held out make a standard error of 1.5 % in 90 %, so that 84 % is four of them away.
// What is read back predicts raw rows as the model does.
func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrorsComeNearTheNoise(t *testing.T) {
	src, dir := rand.NewPCG(1, 2), t.TempDir()
	path := filepath.Join(dir, "houses.csv")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, writeHouses(file, 2000, src))
	require.NoError(t, file.Close())
	table, err := readTable(path)
	require.NoError(t, err)
	d, err := settings{target: "price"}.prepare(table, src)
	require.NoError(t, err)
	all, err := choose(t.Context(), d.train, []int{64}, src)
	require.NoError(t, err)
	chosen := all[best(all, byFolds)]
	served, linear := d.of(chosen), d.of(all[0])
	t.Logf("served %.3g, linear %.3g", served, linear)
	assert.Less(t, served.rmse, 0.9*linear.rmse)
	assert.Less(t, served.rmse, 1.8*noise, "what is missing costs some")
	assert.InDelta(t, 0.9, served.inside, 0.06)

	require.NoError(t, writeModel(t.Context(), dir, chosen.model, d.encoder))
	s, err := readModel(dir)
	require.NoError(t, err)
	mean, sd := chosen.model.Predict(d.test.X)
	for i, r := range d.heldOut[:50] {
		got, dev, err := s.predict(strings.Join(table.names, ",") + "\n" + strings.Join(table.rows[r], ","))
		require.NoError(t, err)
		assert.InDelta(t, mean.At(i, 0), got, 1e-6)
		assert.InDelta(t, sd.At(i, 0), dev, 1e-2)
	}
}

// The standard error is that of the root: of normal errors with deviation 1 it is 1/√(2n).
func TestCompare(t *testing.T) {
	const n = 20_000
	rng := rand.New(rand.NewPCG(1, 2))
	y, mean, sd := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		y[i], mean[i], sd[i] = 5+rng.NormFloat64(), 5, 1
	}
	h := compare(y, mean, sd)
	assert.InDelta(t, 1/math.Sqrt(2*n), h.err, 4e-4)
	assert.InDelta(t, 1, h.rmse, 4*h.err)
	assert.InDelta(t, 0.9, h.inside, 4*math.Sqrt(0.09/n))
	assert.InDelta(t, 2*band, h.width, 1e-9)
	assert.Equal(t, heldOut{inside: 1}, compare(y, y, make([]float64, n)), "no error at all")
}

// What stands in rows that are held out changes neither the encoding nor the points of other rows.
func TestNothingIsLearntFromRowsHeldOut(t *testing.T) {
	prepare := func(last string) *data {
		table, err := parseTable(strings.NewReader(lines(80, strings.Repeat(last, 20))))
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
	table, err := parseTable(strings.NewReader("\ufeff" + text))
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
	for row, want := range map[[2]string][]float64{
		{"a", ""}:     {0, 1, 1, 0, 0, 0},
		{"b", "NaN"}:  {0, 1, 0, 1, 0, 0},
		{"rare", "?"}: {0, 1, 0, 0, 1, 0},
		{"new", "NA"}: {0, 1, 0, 0, 1, 0},
		{"", "null"}:  {0, 1, 0, 0, 0, 1},
	} {
		x[0] = 7 // is written over
		require.NoError(t, e.encode(x, names, row[:], 2))
		assert.Equal(t, want, x, row)
	}
	require.NoError(t, e.encode(x, names, []string{"a", "9"}, 2))
	assert.NotZero(t, x[0])
	assert.EqualError(t, e.encode(x, names, []string{"a", "many"}, 2), `line 2, column "size": "many" is not a finite number, as most are there (-category or -skip?)`)
	assert.EqualError(t, e.encode(x, names[:1], []string{"a"}, 2), `no column "size" among ["kind"]`)
}

// Columns that say nothing are left out; a column that is only there or not says that.
func TestColumnsThatDoNotVary(t *testing.T) {
	text := "one,same,none,equal,there,id,huge,y\n"
	for i := range 30 {
		text += fmt.Sprintf("7,a,,%s,%s,n%d,%de306,%d\n", []string{"5", "5.0"}[i%2], []string{"5", ""}[i%2], i, i, i)
	}
	table, err := parseTable(strings.NewReader(text))
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
	assert.Equal(t, []float64{0, 1}, x)
	_, err = settings{target: "y"}.encoding(table, 7, rows)
	assert.ErrorContains(t, err, `column "huge": numbers from 0 to 2.9e+307 have no deviation in float64`)
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
		assert.Contains(t, clitest.Output(t, run, "-data", path, "-target", "y", "-features", "64"), "y: ", name)
	}
	none := "x,z,y\n"
	for i := range 100 {
		none += fmt.Sprintf(",%d,%d\n", i, i*i%7)
	}
	require.NoError(t, os.WriteFile(path, []byte(none), 0o600))
	assert.Regexp(t, `x +constant .* 80\n`, clitest.Output(t, run, "-data", path, "-target", "y", "-features", "64"))
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
		{lines(40, "x,1,a,dear\n"), "", `line 42, column "price": "dear" is not a finite number, which a target is`},
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
		args := append([]string{"-data", path, "-target", "price", "-features", "4"}, strings.Fields(c.args)...)
		assert.ErrorContains(t, run(args, io.Discard), c.want)
	}
	assert.ErrorContains(t, run([]string{"-data", path + "x", "-target", "y"}, io.Discard), "mine.csvx")
}

func TestErrorsOfFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-features 64,7":    `invalid value "64,7" for flag -features: want at most 16 even numbers from 2 to 2048`,
		"-features ,":       "want at most 16 even numbers",
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
		`"Deviation": `:      {`"Deviation": -`, "want a positive number"},
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
