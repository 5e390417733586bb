package bands_test

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/bands"
)

// A page has a cut with the band in it on the left, and a map of values with the largest on top on
// the right.
func TestSave(t *testing.T) {
	column := dense.Of(3, 1, []float64{1, 2, 4})
	cut, err := bands.NewCut("cut", "x", "y", []float64{0, 1, 2}, column, dense.Of(3, 1, []float64{1, 1, 1}))
	require.NoError(t, err)
	assert.InDelta(t, 4+bands.Width, cut.Y.Max, 1e-12)
	assert.InDelta(t, 1-bands.Width, cut.Y.Min, 1e-12)
	require.NoError(t, cut.Curve("mean", bands.Blue, 1, func(i int) float64 { return column.At(i, 0) }))
	require.NoError(t, cut.Curve("", bands.Grey, 1, func(int) float64 { return 9 }))
	assert.Equal(t, 9.0, cut.Y.Max)
	require.NoError(t, cut.Points("none", bands.Red, nil))
	require.NoError(t, cut.Points("far", bands.Red, plotter.XYs{{X: 1, Y: 20}}))
	assert.Equal(t, 20.0, cut.Y.Max)

	heat := bands.Heat("map", column, 1, 4, palette.Heat(2, 1))
	path := filepath.Join(t.TempDir(), "a.png")
	require.NoError(t, bands.Save(path, 12*vg.Centimeter, 6*vg.Centimeter,
		bands.Panel{Plot: cut.Plot, Right: 0.5, Top: 1}, bands.Panel{Plot: heat, Left: 0.5, Right: 1, Top: 1}))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	size := img.Bounds().Size()
	assert.Equal(t, size.X, 2*size.Y)
	x := size.X * 3 / 4
	assert.NotEqual(t, img.At(x, size.Y/4), img.At(x, size.Y*3/4), "the largest value has another colour")
}
