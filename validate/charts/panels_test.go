package charts_test

import (
	"image"
	_ "image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/validate/charts"
)

// Panels in rows with separate ranges of the y-axis.
func TestRowsOfPanels(t *testing.T) {
	panel := func(scale float64) charts.Panel {
		return charts.Panel{Series: []charts.Series{{Name: "iid", Points: []charts.Point{{X: 8, Y: scale, Err: scale / 8}, {X: 16, Y: scale / 2}}}}}
	}
	f := charts.Figure{LogX: true, LogY: true, OwnY: true, Panels: []charts.Panel{panel(1), panel(100)}}
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
