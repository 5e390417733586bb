package charts

import (
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	_ "image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// The file is a picture. A series is drawn in its colour, which is one in all panels.
func TestSavePNG(t *testing.T) {
	first, second := inColour(t, figure())
	assert.Greater(t, first, 100)
	assert.Greater(t, second, 100)
	assert.Len(t, figure().styles(), 4)
}

func TestSaveSVG(t *testing.T) {
	f := figure()
	f.Panels[0].Levels[0].Name = `<&"> ` + strings.Repeat("→", 2000) + "\x00\xff."
	data := svg(t, f)
	for _, want := range []string{strings.Repeat("→", 2000) + "\ufffd\ufffd.", "error of an estimate", ">m<", "relative error", ">256<", "orthogonal", "left", "right"} {
		assert.Contains(t, data, want)
	}
}

// svg returns f as SVG, which is well-formed and has finite coordinates.
func svg(t *testing.T, f Figure) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, f.Write(&b, "svg"))
	require.NotContains(t, b.String(), "NaN")
	require.NotContains(t, b.String(), "Inf")
	require.NoError(t, xml.Unmarshal([]byte(b.String()), new(struct{})))
	return b.String()
}

// Neighbours among large numbers, such as nanoseconds since 1970, and numbers of all magnitudes are
// drawn and have labels at the ticks.
func TestMagnitudes(t *testing.T) {
	const tiny, huge = 1e-307, 1e307
	for _, ends := range [][2]float64{
		{1.8e18, 1.8e18 + 256}, {0x1p53, 0x1p53 + 2}, {1, 1 + 0x1p-52}, {1e-20, 2e-20},
		{tiny, tiny}, {tiny, 1}, {tiny, huge}, {1, huge}, {huge, huge}, {0, tiny}, {0, huge}, {-huge, huge}, {-huge, -huge},
	} {
		for _, log := range []bool{false, true} {
			if log && ends[0] <= 0 {
				continue
			}
			f := Figure{LogX: log, LogY: log, Panels: []Panel{{Series: []Series{{Points: []Point{{ends[0], ends[0], 0}, {ends[1], ends[1], 0}}}}}}}
			assert.Contains(t, svg(t, f), "<text", "%v, logarithmic %v", ends, log)
			// Two series with error bars at common values of x move apart.
			f.Panels[0].Series[0].Points[0].Err, f.Panels[0].Series[0].Points[1].Err = huge, ends[1]
			f.Panels[0].Series = append(f.Panels[0].Series, f.Panels[0].Series[0])
			assert.Contains(t, svg(t, f), "<text", "%v with bars, logarithmic %v", ends, log)
		}
	}
	for _, x := range []float64{math.SmallestNonzeroFloat64, math.MaxFloat64} {
		f := Figure{LogX: true, LogY: true, Panels: []Panel{{Series: []Series{{Points: []Point{{x, x, 0}}}}}}}
		assert.ErrorContains(t, f.Write(io.Discard, "svg"), "no point")
	}
}

// Save leaves out ticks where no point can be.
func TestTicksWithoutAPlace(t *testing.T) {
	f := figure()
	f.XTicks, f.XNames = []float64{0, -1, math.NaN(), math.Inf(1), 64}, []string{"zero", "below", "none", "beyond", "first"}
	data := svg(t, f)
	assert.Equal(t, len(f.Panels), strings.Count(data, ">first<"))
	for _, name := range f.XNames[:4] {
		assert.NotContains(t, data, ">"+name+"<")
	}
}

// Long texts leave room for the points.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("long ", 60)
	plain := func() Figure {
		s := Series{Name: "a", Points: []Point{{1, 1, 0}, {2, 2, 0}, {3, 1.5, 0}}}
		return Figure{XTicks: []float64{1, 2}, XNames: []string{"a", "b"}, Panels: []Panel{{Series: []Series{s}}}}
	}
	want, _ := inColour(t, plain())
	for name, change := range map[string]func(*Figure){
		"title":  func(f *Figure) { f.Title = long },
		"x":      func(f *Figure) { f.XLabel = long },
		"y":      func(f *Figure) { f.YLabel = long },
		"panel":  func(f *Figure) { f.Panels[0].Title = long },
		"ticks":  func(f *Figure) { f.XNames = []string{long, long} },
		"legend": func(f *Figure) { f.Panels[0].Series[0].Name = long },
		"points": func(f *Figure) { f.Panels[0].Series[0].Labels = []string{long} },
	} {
		f := plain()
		change(&f)
		got, _ := inColour(t, f)
		assert.Greater(t, got, want*2/3, name)
	}
}

// Names stand at the ticks in place of numbers, and are turned if there is no room for them.
func TestNamesOfTicks(t *testing.T) {
	f := Figure{XTicks: []float64{1, 2, 3}, XNames: []string{"one", "two"}, Panels: []Panel{{Series: []Series{{Points: []Point{{1, 1, 0}, {3, 2, 0}}}}}}}
	for _, turned := range []bool{false, true} {
		if turned {
			f.XNames[1] = "the second of all these long names"
		}
		data := svg(t, f)
		for _, want := range []string{">one<", ">" + f.XNames[1] + "<", ">3<"} {
			assert.Contains(t, data, want)
		}
		assert.Equal(t, turned, strings.Contains(data, "rotate("))
	}
	f.YLabel, f.XNames[0] = strings.Repeat("height ", 40), strings.Repeat("first ", 20)
	img := saved(t, f)
	ink := func(x, y int) bool { return color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y < 200 }
	for x := range img.Bounds().Dx() {
		assert.False(t, ink(x, 0) || ink(x, img.Bounds().Dy()-1), "cut at column %d", x)
	}
	for y := range img.Bounds().Dy() {
		assert.False(t, ink(0, y) || ink(img.Bounds().Dx()-1, y), "cut at row %d", y)
	}
}

// Titles of two lines stand between the texts above and the panel, and a label that has no room
// beside a point at the right edge stands to the left of the point.
func TestTextsInPanels(t *testing.T) {
	label := "a label at the edge"
	f := Figure{Title: "figure", XLabel: "below", Panels: []Panel{{Title: "high\nlow", Series: []Series{{Points: []Point{{1, 1, 0}, {2, 2, 0}}, Labels: []string{"free", label}}}}}}
	f.Panels, f.Columns = append(f.Panels, f.Panels[0], f.Panels[0], f.Panels[0]), 2
	data := svg(t, f)
	place := func(text string, which int) (x, y float64) { // y from the top of the picture
		all := regexp.MustCompile(`<text x="(\S+)" y="(\S+)"[^>]*>`+text+`<`).FindAllStringSubmatch(data, -1)
		require.Greater(t, len(all), which)
		_, err := fmt.Sscan(all[which][1]+" "+all[which][2], &x, &y)
		require.NoError(t, err)
		return x, y
	}
	_, figure := place(f.Title, 0)
	_, first := place("high", 0)
	_, below := place(f.XLabel, 0)
	_, third := place("high", 2)
	assert.Greater(t, first, figure+13)
	assert.Greater(t, third, below+13)
	x, _ := place(label, 0)
	free, _ := place("free", 1)
	assert.Less(t, x+float64(pointText().Width(label)), free, "in the first panel")
}

// Bars of many series stay in their panel.
func TestManyBars(t *testing.T) {
	var p Panel
	for range 300 {
		p.Series = append(p.Series, Series{Points: []Point{{1, 1, 1}, {2, 2, 1}}})
	}
	area := extent{0, 3, 0, 3}
	for i, s := range p.Series {
		for k, q := range (Figure{}).apart(s.Points, i, len(p.Series), area) {
			assert.InDelta(t, k+1, q.X, 0.31)
		}
	}
}

// saved returns the picture of f.
func saved(t *testing.T, f Figure) image.Image {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.png")
	require.NoError(t, f.Save(path))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	img, _, err := image.Decode(file)
	require.NoError(t, err)
	return img
}

// Panels in rows with separate ranges of the y-axis.
func TestRowsOfPanels(t *testing.T) {
	panel := func(scale float64) Panel {
		return Panel{Series: []Series{{Name: "iid", Points: []Point{{8, scale, scale / 8}, {16, scale / 2, 0}}}}}
	}
	f := Figure{LogX: true, LogY: true, OwnY: true, Panels: []Panel{panel(1), panel(100)}}
	wide := saved(t, f).Bounds()
	f.Columns = 1
	tall := saved(t, f).Bounds()
	assert.InDelta(t, 2, float64(wide.Dx())/float64(tall.Dx()), 0.02)
	assert.Greater(t, tall.Dy(), wide.Dy()*3/2)
}

// inColour counts the pixels of a picture in the colours of the first two series.
func inColour(t *testing.T, f Figure) (first, second int) {
	t.Helper()
	img := saved(t, f)
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			switch color.RGBAModel.Convert(img.At(x, y)) {
			case palette[0]:
				first++
			case palette[1]:
				second++
			}
		}
	}
	return first, second
}

// Save leaves out points beyond YRange, and lines to them end at the edge. They do not change the
// range of the other series.
func TestYRange(t *testing.T) {
	f := Figure{LogY: true, Panels: []Panel{{Series: []Series{
		{Name: "a", Points: []Point{{1, 1, 0}, {2, 2, 0}, {3, 3, 0}}},
		{Name: "b", Points: []Point{{1.5, 1e-6, 0}, {2.5, 1e-7, 0}, {2.9, 1e-8, 0}}},
	}}}, YRange: [2]float64{0.5, 5}}
	a, b := inColour(t, f)
	f.Panels[0].Series[1].Points = []Point{{1.5, 1e-6, 0}}
	alone, legend := inColour(t, f)
	assert.Equal(t, alone, a)
	assert.Equal(t, legend, b, "only the legend shows b")
	assert.Greater(t, a, 5*b)
	for _, ends := range [][2]float64{{2, 1}, {-1, 1}, {0, 0.5}, {1, math.NaN()}, {1, math.Inf(1)}, {1, math.MaxFloat64}, {1e300, math.Nextafter(1e300, 2e300)}} {
		f.YRange = ends
		assert.ErrorContains(t, f.Save(filepath.Join(t.TempDir(), "a.png")), "YRange")
	}
}

// A label belongs to its own point even if a point before it cannot be drawn.
func TestLabels(t *testing.T) {
	s := Series{Name: "a", Points: []Point{{1, 1, 0}, {2, math.NaN(), 0}, {3, 3, 0}, {4, 4, 0}}, Labels: []string{"first", "lost", "third"}}
	data := svg(t, Figure{Panels: []Panel{{Series: []Series{s}}}})
	assert.Contains(t, data, ">first<")
	assert.Contains(t, data, ">third<")
	assert.NotContains(t, data, "lost")
}

// The legend has no line for a series of points alone, and no point for a line alone.
func TestPointsAlone(t *testing.T) {
	f := Figure{Panels: []Panel{
		{Series: []Series{{Name: "a", Points: []Point{{1, 1, 0}}, Line: []Point{}}, {Name: "b", Line: []Point{{1, math.NaN(), 0}}}}},
		{Series: []Series{{Name: "b", Line: []Point{{1, 2, 0}, {2, 3, 0}}}}},
	}}
	styles := f.styles()
	assert.True(t, styles[0].bare)
	assert.False(t, styles[1].bare, "the second panel has a line")
	assert.Equal(t, []bool{false, true}, []bool{styles[0].plain, styles[1].plain}, "lines alone have no points in the legend")
}

// Series with error bars at common values of x move apart, and other series stay where they are.
func TestSharedPlaces(t *testing.T) {
	at := func(x, err float64) Series { return Series{Points: []Point{{x, 1, err}, {x + 1, 2, err}}} }
	assert.False(t, Panel{Series: []Series{at(0.5, 1), at(0.7, 1)}}.sharesBars())
	assert.True(t, Panel{Series: []Series{at(0.5, 1), at(1.5, 1)}}.sharesBars())
	assert.False(t, Panel{Series: []Series{at(0.5, 0), at(1.5, 0)}}.sharesBars())
}

func TestStylesDiffer(t *testing.T) {
	var p Panel
	const count = 40
	for i := range count {
		p.Series = append(p.Series, Series{Name: strconv.Itoa(i)})
	}
	p.Levels = []Level{{Name: "0", Y: 1}}
	styles := Figure{Panels: []Panel{p}}.styles()
	lines, glyphs := make(map[string]bool), make(map[string]bool)
	for _, s := range styles[:count] {
		lines[fmt.Sprint(s.line.Color, s.line.Dashes)] = true
		glyphs[fmt.Sprintf("%v %T", s.glyph.Color, s.glyph.Shape)] = true
	}
	assert.Len(t, lines, count)
	assert.Len(t, glyphs, count)
	require.Len(t, styles, count+1, "a level has a style of its own, whatever its name")
	assert.True(t, styles[count].level)
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	assert.ErrorContains(t, figure().Save(filepath.Join(dir, "a.bmp")), `format "bmp", want png or svg`)
	assert.ErrorContains(t, figure().Save(filepath.Join(dir, "no", "a.png")), "no such file")
	assert.ErrorContains(t, Figure{}.Save(filepath.Join(dir, "a.png")), "no panel")
	empty := Figure{LogY: true, Panels: []Panel{{Series: []Series{{Points: []Point{{1, -1, 0}, {2, math.NaN(), 0}}}}}}}
	assert.ErrorContains(t, empty.Save(filepath.Join(dir, "a.png")), "no point")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.png"), 0o700))
	assert.Error(t, figure().Save(filepath.Join(dir, "folder.png")))
}

// A tiny value is an arrow at the edge of eight decades, and does not extend the range to 33
// decades.
func TestAtMostEightDecades(t *testing.T) {
	f := Figure{LogY: true, Panels: []Panel{{Series: []Series{{Name: "a", Points: []Point{{1, 1, 0}, {2, 1e-3, 0}, {3, 1e-33, 0}}}}}}}
	area, err := f.extent(f.Panels)
	require.NoError(t, err)
	assert.InDelta(t, 8, math.Log10(area.y1/area.y0), 1)
	with, _ := inColour(t, f)
	f.Panels[0].Series[0].Line = []Point{}
	bare, _ := inColour(t, f)
	f.Panels[0].Series[0].Points = f.Panels[0].Series[0].Points[:2]
	without, _ := inColour(t, f)
	assert.Greater(t, with, bare)
	assert.Greater(t, bare, without, "the arrow is drawn")
}
