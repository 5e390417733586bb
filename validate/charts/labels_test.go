package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/plot/vg"
)

func at(x, y, width, height vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + width, Y: y + height}}
}

// Labels of four points at one place stand at its four corners; there is no room for a fifth.
func TestCornersAreShared(t *testing.T) {
	var placed []vg.Rectangle
	size := vg.Point{X: 20, Y: 10}
	free := func(r vg.Rectangle) bool { return !overlaps(r, placed) }
	for range 4 {
		box, ok := corner(vg.Point{X: 50, Y: 50}, size, free)
		assert.True(t, ok)
		assert.False(t, overlaps(box, placed))
		placed = append(placed, box)
	}
	_, ok := corner(vg.Point{X: 50, Y: 50}, size, free)
	assert.False(t, ok)
}

// A label avoids points where it can, and covers one where it cannot avoid all.
func TestCornersAvoidPoints(t *testing.T) {
	size := vg.Point{X: 20, Y: 10}
	avoid := func(points ...vg.Rectangle) vg.Rectangle {
		box, ok := corner(vg.Point{X: 50, Y: 50}, size, func(r vg.Rectangle) bool { return !overlaps(r, points) }, func(vg.Rectangle) bool { return true })
		assert.True(t, ok)
		return box
	}
	right := at(53, 53, 20, 10)
	assert.Equal(t, right, avoid())
	assert.NotEqual(t, right, avoid(at(60, 55, 5, 5)))
	assert.Equal(t, right, avoid(at(0, 0, 100, 100)))
}

func TestInside(t *testing.T) {
	page := at(0, 0, 100, 100)
	assert.True(t, inside(at(0, 90, 10, 10), page))
	for _, r := range []vg.Rectangle{at(-1, 0, 9, 9), at(0, -1, 9, 9), at(92, 0, 9, 9), at(0, 92, 9, 9)} {
		assert.False(t, inside(r, page))
	}
}
