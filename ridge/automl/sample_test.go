package automl_test

import (
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// A target that varies in one row, an output beside it, and a class of one row are learnt. The row
// is never held out.
func testOneRow[T dense.Float](t *testing.T) {
	rows := table[T](30, 1, 1, 0, func([]float64) float64 { return 7 })
	rows.Y.Set(3, 0, 8)
	two := table[T](30, 1, 1, 0, func(x []float64) float64 { return x[0] })
	two.Y = dense.New[T](30, 2)
	for i := range 30 {
		two.Y.Set(i, 0, two.X.At(i, 0))
	}
	two.Y.Set(29, 1, -1)
	class := table[T](30, 1, 1, 0, func(x []float64) float64 { return 1 + float64(int(2+x[0])%2) })
	class.Y.Set(3, 0, 0)
	for name, c := range map[string]struct {
		rows ridge.Block[T]
		o    automl.Options
		out  int
	}{
		"one output": {rows, automl.Options{}, 29}, "heavy tails": {rows, automl.Options{HeavyTails: true}, 29},
		"one of two outputs": {two, automl.Options{}, 29}, "a class": {class, automl.Options{Classes: 3}, 29},
	} {
		r := learn(t, c.rows, c.o)
		assert.Equal(t, c.out, r.HeldOut, name)
		assert.False(t, math.IsNaN(r.Trials[r.Best].Score), name)
		if c.o.Classes > 0 {
			continue
		}
		mean := r.Model.Mean(dense.Matrix[T]{}, c.rows.X)
		for j := range c.rows.Y.Cols {
			y := dense.Copy(dense.Matrix[float64]{}, c.rows.Y.ColRange(j, j+1)).Data
			for i, v := range y {
				assert.InDelta(t, v, mean.At(i, j), 1.5, name)
			}
		}
	}
}

func TestOneRow(t *testing.T) { densetest.Both(t, testOneRow[float32], testOneRow[float64]) }

// Of 4000 rows, 500 choose. Two rows of a class of 6 or 24 rows, the row of a class of one, and a
// target that varies in one row are among these rows whatever the draw.
func TestRareRowsChoose(t *testing.T) {
	rows := table[float64](4000, 1, 1, 0, func([]float64) float64 { return 0 })
	for _, c := range []struct{ classes, rare, want int }{{2, 24, 2}, {2, 6, 2}, {2, 1, 1}, {0, 1, 1}} {
		for i := range rows.Y.Data {
			rows.Y.Data[i] = map[bool]float64{true: 1}[i < c.rare]
		}
		for seed := range uint64(10) {
			y := automl.Chosen(t, rows, automl.Options{Classes: c.classes, Landmarks: 5}, seed)
			assert.InDelta(t, 500, len(y), 30)
			assert.GreaterOrEqual(t, floats.Sum(y), float64(c.want), "%+v, seed %d", c, seed)
		}
	}
}

// Two of 20,000 rows are a class that tells nothing. One of them is among the 500 held-out rows,
// with the share that the class has in all rows. The log-loss is about the entropy of this share,
// 0.001. A row of weight 1 would make it 0.014.
func TestShareOfRareClasses(t *testing.T) {
	rows := table[float32](20_000, 1, 1, 0, func([]float64) float64 { return 0 })
	rows.Y.Data[100], rows.Y.Data[19_000] = 1, 1
	linear := families(learn(t, rows, automl.Options{Classes: 2, Landmarks: 5}).Report)["linear"]
	assert.Less(t, linear, 0.003)
	assert.Greater(t, linear, 0.0003)
}

// Errors name the row and the column of all rows, and what the user can do.
func TestErrorsOfRows(t *testing.T) {
	fit := func(n int, o automl.Options, change func(b ridge.Block[float64])) error {
		b := ridge.Block[float64]{X: dense.New[float64](n, 2), Y: dense.New[float64](n, 1)}
		change(b)
		_, err := automl.Fit(t.Context(), b, o, rand.NewPCG(1, 2))
		return err
	}
	target := func(o automl.Options, y func(i int) float64) error {
		return fit(30, o, func(b ridge.Block[float64]) {
			for i := range b.Y.Data {
				b.Y.Data[i] = y(i)
			}
		})
	}
	for want, err := range map[string]error{
		"automl: output 0 is 7 in all 30 rows, want a target that varies": target(automl.Options{}, func(int) float64 { return 7 }),
		"automl: output 0 is from 0 to 2.9e+201, want a range from 1e-130 to 1e+130: scale it": target(automl.Options{}, func(i int) float64 {
			return 1e200 * float64(i)
		}),
		"automl: y[7][0] = 2 is no class, want a whole number from 0 to 1":         target(automl.Options{Classes: 2}, func(i int) float64 { return float64(i / 7 * 2) }),
		"automl: class 2 of 3 has no row with a weight above 0, want at least one": target(automl.Options{Classes: 3}, func(i int) float64 { return float64(i % 2) }),
		"automl: too few of 30 rows can be held out, because the only row of a class or of a value is in every fit": target(automl.Options{Classes: 30}, func(i int) float64 {
			return float64(i)
		}),
		"automl: y[7][0] = NaN: leave out the row of a missing value": fit(30, automl.Options{}, func(b ridge.Block[float64]) { b.Y.Set(7, 0, math.NaN()) }),
		"automl: x[8500][1] = NaN: leave out the row or the column of a missing value, or fill it in and add a column of 0 and 1 that marks it": fit(9000, automl.Options{},
			func(b ridge.Block[float64]) { b.X.Set(8500, 1, math.NaN()) }),
		"automl: x[8500][1] = -1.7e+308, want at most 1e+300 in size: scale the column": fit(9000, automl.Options{},
			func(b ridge.Block[float64]) { b.X.Set(8500, 1, -1.7e308) }),
		"ridge: x[340][1] = +Inf, want a finite number (in the block that begins with row 8160)": fit(9000, automl.Options{}, func(b ridge.Block[float64]) {
			b.X.Set(8500, 1, math.Inf(1))
		}),
	} {
		assert.EqualError(t, err, want)
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(path, []byte("1,2\nNA,3\n"), 0o600))
	_, err := automl.Fit(t.Context(), ridge.CSV[float32]{Path: path}, automl.Options{}, rand.NewPCG(1, 2))
	assert.ErrorContains(t, err, `line 2, column 1: "NA" is not a number: leave out the row or the column of a missing value, or fill it in`)
}

// Columns of the largest size are learnt.
func TestLargestColumns(t *testing.T) {
	rows := table[float64](60, 2, 1, 0.1, func(x []float64) float64 { return x[0] })
	for i := range rows.X.Data {
		rows.X.Data[i] = math.Copysign(1e300, rows.X.Data[i])
		if i%4 == 0 {
			rows.X.Data[i] *= 0.5
		}
	}
	for name, score := range families(learn(t, rows, automl.Options{}).Report) {
		assert.Less(t, score, 2.0, name)
	}
}

// changing is rows whose later readings have other rows.
type changing struct {
	ridge.Block[float64]
	later ridge.Block[float64]
	count *int
}

func (c changing) Blocks() iter.Seq2[ridge.Block[float64], error] {
	if *c.count++; *c.count == 1 {
		return c.Block.Blocks()
	}
	return func(yield func(ridge.Block[float64], error) bool) { yield(c.later, nil) }
}

// Later readings with fewer weights than rows, other columns or an unknown class are errors.
func TestRowsThatChange(t *testing.T) {
	rows := table[float64](40, 2, 1, 0, func(x []float64) float64 { return float64(int(9+x[0]) % 2) })
	rows.Weights = slices.Repeat([]float64{2}, 40)
	for _, change := range []func(b *ridge.Block[float64]){
		func(b *ridge.Block[float64]) { b.Weights = b.Weights[:30] },
		func(b *ridge.Block[float64]) { b.Y = b.Y.RowRange(0, 30) },
		func(b *ridge.Block[float64]) { b.X = b.X.ColRange(0, 1) },
		func(b *ridge.Block[float64]) { b.Y = dense.Of(40, 1, slices.Repeat([]float64{2}, 40)) },
	} {
		later := rows
		change(&later)
		count := 0
		_, err := automl.Fit(t.Context(), changing{rows, later, &count}, automl.Options{Classes: 2}, rand.NewPCG(1, 2))
		assert.Error(t, err)
		assert.Equal(t, 2, count)
	}
}
