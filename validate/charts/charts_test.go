package charts

import (
	"image"
	"image/color"
	_ "image/png"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg/draw"
)

func figure() Figure {
	return Figure{
		Title: "error of an estimate", XLabel: "m", YLabel: "relative error",
		LogX: true, LogY: true, XTicks: []float64{64, 256, 1024},
		Panels: []Panel{
			{Title: "left", Series: []Series{
				{Name: "iid", Points: []Point{{64, 0.8, 0.1}, {256, 0.4, 0.05}, {1024, 0.2, 0.02}}},
				{Name: "orthogonal", Points: []Point{{64, 0.6, 0.9}, {256, math.NaN(), 0}, {1024, 0.1, 0}}},
			}, Levels: []Level{{Name: "average", Y: 0.9}}},
			{Title: "right", Series: []Series{
				{Name: "orthogonal", Points: []Point{{64, 3, 0.1}, {256, -1, 0.1}, {1024, math.Inf(1), 0.1}}},
			}, Levels: []Level{{Name: "average", Y: 0.9}, {Name: "nothing", Y: math.NaN()}}},
		},
	}
}

func TestSavePNG(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.png")
	require.NoError(t, figure().Save(path))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	img, _, err := image.Decode(f)
	require.NoError(t, err)
	count := make(map[color.RGBA]int)
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			count[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	for i, c := range palette[:2] {
		assert.Greater(t, count[c.(color.RGBA)], 100, "series %d is drawn in its colour", i)
	}
	assert.Zero(t, count[palette[2].(color.RGBA)], "a name has one colour in all panels")
}

func TestSaveSVG(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.svg")
	require.NoError(t, figure().Save(path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, want := range []string{"error of an estimate", ">m<", "relative error", ">256<", "orthogonal", "average", "left", "right"} {
		assert.Contains(t, string(data), want)
	}
}

func TestExtent(t *testing.T) {
	e, err := figure().extent(figure().Panels)
	require.NoError(t, err)
	assert.Less(t, e.x0, 64.0)
	assert.Greater(t, e.x1, 1024.0)
	assert.Greater(t, e.y1, 3.1)
	assert.Less(t, e.y0, 0.1)
	assert.Greater(t, e.y0, 0.0)

	linear := Figure{Panels: []Panel{{Series: []Series{{Points: []Point{{X: 2, Y: -1, Err: 1}}}}}}}
	e, err = linear.extent(linear.Panels)
	require.NoError(t, err)
	assert.Equal(t, extent{x0: 1, x1: 3, y0: -2.12, y1: 0.12}, e)
}

func TestRoundTicks(t *testing.T) {
	labels := func(lo, hi float64) (s []string) {
		for _, t := range (roundTicks{}).Ticks(lo, hi) {
			if t.Label != "" {
				s = append(s, t.Label)
			}
		}
		return s
	}
	assert.Equal(t, []string{"0.05", "0.1", "0.2", "0.5", "1", "2"}, labels(0.04, 3))
	assert.Equal(t, []string{"0.1", "1", "10", "100"}, labels(0.1, 999))
	for _, ends := range [][2]float64{{2.1, 4.9}, {0.055, 0.09}, {1.01, 1.02}, {0.6, 1.5}} {
		assert.GreaterOrEqual(t, len(labels(ends[0], ends[1])), 2, "%v", ends)
	}
}

func TestStylesDiffer(t *testing.T) {
	var p Panel
	const count = 20
	for i := range count {
		p.Series = append(p.Series, Series{Name: strconv.Itoa(i)})
	}
	p.Levels = []Level{{Name: "0", Y: 1}}
	type look struct {
		colour color.Color
		shape  draw.GlyphDrawer
	}
	looks := make(map[look]bool)
	styles := Figure{Panels: []Panel{p}}.styles()
	for _, s := range styles[:count] {
		looks[look{s.glyph.Color, s.glyph.Shape}] = true
	}
	assert.Len(t, looks, count)
	require.Len(t, styles, count+1, "a level has a style of its own, whatever its name")
	assert.True(t, styles[count].level)
}

// The errors of a law are of no use, and of no effect.
func TestLinesHaveNoErrors(t *testing.T) {
	f := Figure{Panels: []Panel{{Series: []Series{{Line: []Point{{1, 1, 100}, {2, 2, math.NaN()}}}}}}}
	e, err := f.extent(f.Panels)
	require.NoError(t, err)
	assert.Equal(t, extent{x0: 0.94, x1: 2.06, y0: 0.94, y1: 2.06}, e)
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	assert.ErrorContains(t, figure().Save(filepath.Join(dir, "a.bmp")), "must end in .png or .svg")
	assert.ErrorContains(t, CheckPath(filepath.Join(dir, "no", "a.png")), "no")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.ErrorContains(t, CheckPath(filepath.Join(file, "a.png")), "not a folder")
	assert.ErrorContains(t, Figure{}.Save(filepath.Join(dir, "a.png")), "no panel")
	empty := Figure{LogY: true, Panels: []Panel{{Series: []Series{{Points: []Point{{1, -1, 0}, {2, math.NaN(), 0}}}}}}}
	assert.ErrorContains(t, empty.Save(filepath.Join(dir, "a.png")), "no point")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.png"), 0o700))
	assert.Error(t, figure().Save(filepath.Join(dir, "folder.png")))
}
