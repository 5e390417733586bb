package dense

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// panicText returns the text that f panics with, "" if there is none.
func panicText(f func()) (text string) {
	defer func() { text, _ = recover().(string) }()
	f()
	return ""
}

func testTooLarge[T Float](t *testing.T) {
	const half = math.MaxInt/2 + 1
	for _, side := range [][2]int{{math.MaxInt, 1}, {1, math.MaxInt}, {half, 4}, {math.MaxInt, 0}, {0, math.MaxInt}, {1 << 30, 1 << 30}} {
		r, c := side[0], side[1]
		assert.Regexp(t, `^dense: New\(\d+, \d+\): .* of memory, want at most `, panicText(func() { New[T](r, c) }), "%d×%d", r, c)
	}
	for _, side := range [][2]int{{math.MaxInt, 0}, {0, math.MaxInt}} {
		r, c := side[0], side[1]
		assert.Regexp(t, `^dense: matrix is \d+×\d+, with a side of .* of memory, want at most `, panicText(func() { Of(r, c, []T{}) }), "%d×%d", r, c)
		assert.Regexp(t, `^dense: matrix is \d+×\d+, with a side of `, panicText(Matrix[T]{Rows: r, Cols: c}.Check), "%d×%d", r, c)
	}
	assert.Equal(t, 1<<20, New[T](1<<20, 0).Rows)
	assert.Len(t, New[T](1<<10, 1<<10).Data, 1<<20)
}

func TestTooLarge(t *testing.T) { both(t, testTooLarge[float32], testTooLarge[float64]) }
