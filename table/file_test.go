package table

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// mixed returns a table with columns of all kinds, and the text of the target.
func mixed(t testing.TB, target func(i int) string) *Table {
	return made(t, ",day,size,kind,sex,note,one,y", 48, func(i int) string {
		return fmt.Sprintf("r%d,%s,%s,%s,%s,n%d,1,%s", i, at(i*i%50), []string{"", fmt.Sprint(1 + i*i%17)}[min(i%9, 1)],
			[]string{"a", "b", "c", ""}[i%4], []string{"f", "m"}[i%2], i, target(i))
	})
}

func numbers(i int) string { return fmt.Sprint(float64(1+i*i%17)/4 + float64(i%2) + float64(i%3)/9) }
func classes(i int) string { return []string{"left", "right"}[(i%4+i%3)/3] }

func fileOf(t testing.TB, m *Model) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, m.Write(&b))
	return b.Bytes()
}

// bitsOf returns the bits of the predictions of rows.
func bitsOf(m *Model, t *Table) string {
	p := must.Have(m.Predict(t, 0.05, 0.95))
	return fmt.Sprintf("%x %x", p.Numbers, p.Probabilities.Data)
}

// TestMain prints the predictions of a model and a table in files instead of tests, if the
// environment names them.
func TestMain(m *testing.M) {
	if folder := os.Getenv("TABLE_SERVE"); folder != "" {
		model := must.Have(ReadModel(must.Have(os.Open(filepath.Join(folder, "model")))))
		fmt.Print(bitsOf(model, must.Have(Read(must.Have(os.Open(filepath.Join(folder, "rows.csv"))), ReadOptions{}))))
		return
	}
	os.Exit(m.Run())
}

// A model that another process reads has the same report, and predicts raw rows bit for bit.
func TestServedModel(t *testing.T) {
	for _, target := range []func(i int) string{numbers, classes} {
		all := mixed(t, target)
		m := fitted(t, all, Options{})
		again, err := ReadModel(bytes.NewReader(fileOf(t, m)))
		require.NoError(t, err)
		assert.Equal(t, []any{m.Targets(), m.Columns(), m.Classes(), m.Report()}, []any{again.Targets(), again.Columns(), again.Classes(), again.Report()})
		assert.Equal(t, fileOf(t, m), fileOf(t, again))

		folder := t.TempDir()
		raw := "sex,kind,size,day\n" // without the target and what is left out, in another order
		for i := range all.Len() {
			row := all.Row(i)
			raw += strings.Join([]string{row[4], row[3], row[2], row[1]}, ",") + "\n"
		}
		raw += "x,new,1e3,2030-01-01T12:00\n,,,\n"
		rows, err := Read(strings.NewReader(raw), ReadOptions{})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "model"), fileOf(t, m), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "rows.csv"), []byte(raw), 0o600))
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "TABLE_SERVE="+folder)
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Equal(t, bitsOf(m, rows), string(out))
	}
}

// small returns a model of few rows, whose file is small.
func small(t testing.TB, all *Table, classes bool) *Model {
	m := &Model{targets: []string{"y"}, report: "small"}
	var err error
	m.columns, err = all.Columns([]string{"y"}, Options{})
	require.NoError(t, err)
	labels := must.Have(all.labels("y", classes))
	rows := ridge.Block[float64]{X: must.Have(encode(m.columns, all)), Y: must.Have(all.targets(m.targets, labels))}
	found, err := automl.Fit(t.Context(), rows, automl.Options{Classes: len(labels), Labels: labels, Landmarks: 3}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	m.model = found.Model
	return m
}

var update = flag.Bool("update", false, "write testdata anew")

// The files of earlier versions are read, are written as the same bytes, and predict what they did,
// to rounding: processors round in their own way.
//
//ci:portable
func TestGoldenFiles(t *testing.T) {
	for name, c := range map[string]struct {
		target func(i int) string
		want   []float64
	}{"Numbers": {numbers, []float64{3.3315207879296542, 2.480771533216145, 5.478246080025441}}, "Classes": {classes, []float64{0.4868830172539146, 0.5131169827460854}}} {
		all := mixed(t, c.target)
		path := filepath.Join("testdata", name+".safetensors")
		if *update {
			require.NoError(t, os.WriteFile(path, fileOf(t, small(t, all, name == "Classes")), 0o666))
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		m, err := ReadModel(bytes.NewReader(data))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(data, fileOf(t, m)))
		p, err := m.Predict(all.filter(func(i int) bool { return i == 5 }), 0.05, 0.95)
		require.NoError(t, err)
		got := p.Probabilities.Data
		if y, ok := p.Numbers["y"]; ok {
			got = []float64{y.Mean[0], y.Quantiles[0][0], y.Quantiles[1][0]}
		}
		assert.InDeltaSlice(t, c.want, got, 1e-11, name)
	}
}

// Parts of a file that do not fit together are errors.
func TestPartsThatDoNotFit(t *testing.T) {
	file := fileOf(t, small(t, mixed(t, numbers), false))
	for _, c := range []struct{ key, value, want string }{
		{"table.columns.2.kind", "text", "table: the file has 1 targets and columns that make"},
		{"table.columns.2.kind", "date", "table: the file has 1 targets and columns that make"},
		{"table.columns.2.kind", "dates", `table: the column "size" of the file is no column of kind "dates"`},
		{"table.columns.2.mean", "NaN", `table: the column "size" of the file`},
		{"table.model", "nil", "table: metadata:"},
		{"table.model", "Classifier", `"Classifier", which is unknown`},
		{"table.targets.0", "Y", ""},
		{"table.targets.0", "", `table: the file has the target "" twice, or also as a column`},
		{"table.targets", "2", "table: "},
	} {
		data, err := archive.Changed(file, func(f *safetensors.File) { f.Metadata[c.key] = c.value })
		require.NoError(t, err)
		_, err = ReadModel(bytes.NewReader(data))
		if c.want == "" {
			assert.NoError(t, err, "any text is a name")
			continue
		}
		assert.ErrorContains(t, err, c.want, c)
	}
	data, err := archive.Marshal[float64]("table", "table", recipe{Targets: []string{"y"}})
	require.NoError(t, err)
	_, err = ReadModel(bytes.NewReader(data))
	assert.ErrorContains(t, err, "table: the file has no model")
}
