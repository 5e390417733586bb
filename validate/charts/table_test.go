package charts_test

import (
	"image"
	_ "image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/validate"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

func measured() validate.Table {
	return validate.Table{
		Title: "errors",
		Columns: []validate.Column{
			{Name: "m", Key: "m"}, {Name: "kernel", Key: "kernel"}, {Name: "frequencies", Key: "frequencies"},
			{Name: "MSE", Key: "mse"}, {Name: "std. error", Key: "stderr"}, {Name: "law", Key: "law"},
		},
		Rows: [][]any{
			{8, "gaussian", "iid", 0.5, 0.1, 0.4},
			{16, "gaussian", "iid", 0.25, 0.05, 0.2},
			{8, "gaussian", "simplex", 0.3, nil, nil},
			{8, "softmax", "iid", 5.0, 1.0, 4.0},
		},
	}
}

func TestFromTable(t *testing.T) {
	f, err := charts.FromTable(measured(), charts.Columns{X: "m", Y: "mse", Err: "stderr", Line: "law", Series: "frequencies", Panel: "kernel"})
	require.NoError(t, err)
	assert.Equal(t, "errors", f.Title)
	assert.Equal(t, [2]string{"m", "MSE"}, [2]string{f.XLabel, f.YLabel})
	require.Len(t, f.Panels, 2)
	require.Len(t, f.Panels[0].Series, 2)
	assert.Equal(t, charts.Series{
		Name:   "iid",
		Points: []charts.Point{{X: 8, Y: 0.5, Err: 0.1}, {X: 16, Y: 0.25, Err: 0.05}},
		Line:   []charts.Point{{X: 8, Y: 0.4}, {X: 16, Y: 0.2}},
	}, f.Panels[0].Series[0])
	simplex := f.Panels[0].Series[1]
	assert.Equal(t, []charts.Point{{X: 8, Y: 0.3}}, simplex.Points, "no error is an error bar of none")
	assert.True(t, math.IsNaN(simplex.Line[0].Y), "no law is no line")
	assert.Equal(t, "softmax", f.Panels[1].Title)

	plain, err := charts.FromTable(measured(), charts.Columns{X: "m", Y: "mse"})
	require.NoError(t, err)
	require.Len(t, plain.Panels, 1)
	require.Len(t, plain.Panels[0].Series, 1)
	assert.Len(t, plain.Panels[0].Series[0].Points, 4)
	assert.Nil(t, plain.Panels[0].Series[0].Line)
}

func TestFromTableErrors(t *testing.T) {
	for want, c := range map[string]charts.Columns{
		`charts: a figure needs columns X and Y, got "m" and ""`:                 {X: "m"},
		`charts: validate: the table has no column "n"`:                          {X: "n", Y: "mse"},
		`charts: validate: column kernel has "gaussian" in row 0, want a number`: {X: "m", Y: "kernel"},
		`charts: validate: the table has no column "map"`:                        {X: "m", Y: "mse", Series: "map"},
		`charts: validate: the table has no column "d"`:                          {X: "m", Y: "mse", Panel: "d"},
	} {
		_, err := charts.FromTable(measured(), c)
		assert.EqualError(t, err, want)
	}
}

// Panels in rows with separate ranges of the y-axis.
func TestRowsOfPanels(t *testing.T) {
	f, err := charts.FromTable(measured(), charts.Columns{X: "m", Y: "mse", Err: "stderr", Line: "law", Series: "frequencies", Panel: "kernel"})
	require.NoError(t, err)
	f.LogX, f.LogY, f.OwnY = true, true, true
	size := func() image.Point {
		path := filepath.Join(t.TempDir(), "a.png")
		require.NoError(t, f.Save(path))
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		c, _, err := image.DecodeConfig(file)
		require.NoError(t, err)
		return image.Pt(c.Width, c.Height)
	}
	wide := size()
	f.Columns = 1
	tall := size()
	assert.InDelta(t, 2, float64(wide.X)/float64(tall.X), 0.02)
	assert.Greater(t, tall.Y, wide.Y*3/2)
}
