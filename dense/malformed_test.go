package dense_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// panicText returns the text that f panics with, "" if there is none.
func panicText(f func()) (text string) {
	defer func() { text, _ = recover().(string) }()
	f()
	return ""
}

func testTooLarge[T dense.Float](t *testing.T) {
	const half = math.MaxInt/2 + 1
	for _, side := range [][2]int{{math.MaxInt, 1}, {1, math.MaxInt}, {half, 4}, {math.MaxInt, 0}, {0, math.MaxInt}, {1 << 30, 1 << 30}} {
		r, c := side[0], side[1]
		assert.Regexp(t, `^dense: New\(\d+, \d+\): .* of memory, want at most `, panicText(func() { dense.New[T](r, c) }), "%d×%d", r, c)
	}
	for _, side := range [][2]int{{math.MaxInt, 0}, {0, math.MaxInt}} {
		r, c := side[0], side[1]
		assert.Regexp(t, `^dense: matrix is \d+×\d+, with a side of .* of memory, want at most `, panicText(func() { dense.Of(r, c, []T{}) }), "%d×%d", r, c)
		assert.Regexp(t, `^dense: matrix is \d+×\d+, with a side of `, panicText(dense.Matrix[T]{Rows: r, Cols: c}.Check), "%d×%d", r, c)
	}
	assert.Equal(t, 1<<20, dense.New[T](1<<20, 0).Rows)
	assert.Len(t, dense.New[T](1<<10, 1<<10).Data, 1<<20)
}

func TestTooLarge(t *testing.T) { densetest.Both(t, testTooLarge[float32], testTooLarge[float64]) }

func testMalformed[T dense.Float](t *testing.T) {
	data := []T{1, 2, 3, 4}
	for want, m := range map[string]dense.Matrix[T]{
		"dense: matrix is -1×2: negative dimension":                  {Rows: -1, Cols: 2, Stride: 2, Data: data},
		"dense: matrix is 2×-1: negative dimension":                  {Rows: 2, Cols: -1, Stride: 2, Data: data},
		"dense: stride 1 of a 2×3 matrix is less than its 3 columns": {Rows: 2, Cols: 3, Stride: 1, Data: data},
		"dense: stride 0 of a 2×2 matrix is less than its 2 columns": {Rows: 2, Cols: 2, Data: data},
		"dense: 4 elements cannot hold a 3×2 matrix of stride 2":     {Rows: 3, Cols: 2, Stride: 2, Data: data},
		"dense: 4 elements cannot hold a 2×2 matrix of stride 3":     {Rows: 2, Cols: 2, Stride: 3, Data: data},
		"dense: 0 elements cannot hold a 1×1 matrix of stride 1":     {Rows: 1, Cols: 1, Stride: 1},
	} {
		calls := map[string]func(){
			"Check":     m.Check,
			"RowRange":  func() { m.RowRange(0, 0) },
			"ColRange":  func() { m.ColRange(0, 0) },
			"Clone":     func() { m.Clone() },
			"Copy":      func() { dense.Copy(dense.Matrix[T]{}, m) },
			"Transpose": func() { dense.Transpose(dense.Matrix[T]{}, m) },
			"Copy 64":   func() { dense.Copy(dense.Matrix[float64]{}, m) },
		}
		assert.EqualError(t, m.Validate(), want)
		for name, f := range calls {
			assert.Equal(t, want, panicText(f), name)
		}
		if m.Rows > 0 && m.Cols > 0 {
			assert.Equal(t, want, panicText(func() { dense.Ensure(m, m.Rows, m.Cols) }), "Ensure")
			assert.Equal(t, want, panicText(func() { dense.Copy(m, dense.New[T](m.Rows, m.Cols)) }), "destination of Copy")
		}
	}
	assert.Contains(t, panicText(dense.Matrix[T]{Rows: math.MaxInt, Cols: 2, Stride: math.MaxInt, Data: data}.Check), "dense: 4 elements cannot hold a ")
	for _, m := range []dense.Matrix[T]{{Rows: -1, Cols: 2, Stride: 2, Data: data}, {Rows: 2, Cols: -1, Stride: 2, Data: data}} {
		for name, f := range map[string]func(){
			"At": func() { m.At(1, 1) }, "Set": func() { m.Set(1, 1, 5) },
		} {
			assert.Contains(t, panicText(f), "dense: index (1, 1) outside a ", name)
		}
	}
	assert.Equal(t, "dense: row 1 outside a -1×2 matrix", panicText(func() { dense.Matrix[T]{Rows: -1, Cols: 2, Stride: 2, Data: data}.Row(1) }))
	assert.Equal(t, []T{1, 2, 3, 4}, data, "nothing was written")
}

func TestMalformed(t *testing.T) { densetest.Both(t, testMalformed[float32], testMalformed[float64]) }

func testChecksAllocateNothing[T dense.Float](t *testing.T) {
	m := densetest.Counted[T](5, 6, 7)
	for _, v := range []dense.Matrix[T]{m, m.RowRange(0, 0), m.ColRange(2, 2)} {
		assert.Zero(t, testing.AllocsPerRun(100, v.Check))
		assert.NoError(t, v.Validate())
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() { m.RowRange(1, 3).ColRange(2, 4) }))
}

func TestChecksAllocateNothing(t *testing.T) {
	densetest.Both(t, testChecksAllocateNothing[float32], testChecksAllocateNothing[float64])
}
