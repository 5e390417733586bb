package dense_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func testElements[T dense.Float](t *testing.T) {
	m := dense.New[T](2, 3)
	assert.Equal(t, dense.Matrix[T]{Rows: 2, Cols: 3, Data: make([]T, 6), Stride: 3}, m)
	m.Set(1, 2, 5)
	assert.Equal(t, T(5), m.At(1, 2))
	assert.Equal(t, T(5), m.Data[5])

	data := []T{1, 2, 3, 4}
	of := dense.Of(2, 2, data)
	of.Set(0, 1, 9)
	assert.Equal(t, T(9), data[1], "Of shares the slice")

	wide := densetest.Counted[T](3, 2, 5)
	for i := range 3 {
		for j := range 2 {
			assert.Equal(t, T(100*i+j), wide.At(i, j))
		}
		assert.Equal(t, []T{T(100 * i), T(100*i + 1)}, wide.Row(i))
		assert.Equal(t, 2, cap(wide.Row(i)), "append cannot reach the next row")
	}
	for _, at := range [][2]int{{-1, 0}, {3, 0}, {0, -1}, {0, 2}} {
		assert.Panics(t, func() { wide.At(at[0], at[1]) }, "%v", at)
		assert.Panics(t, func() { wide.Set(at[0], at[1], 0) }, "%v", at)
	}
	assert.PanicsWithValue(t, "dense: index (0, 2) outside a 3×2 matrix", func() { wide.At(0, 2) })
	assert.PanicsWithValue(t, "dense: row 3 outside a 3×2 matrix", func() { wide.Row(3) })
	assert.PanicsWithValue(t, "dense: row -1 outside a 3×2 matrix", func() { wide.Row(-1) })
	assert.PanicsWithValue(t, "dense: New(-1, 2): negative dimension", func() { dense.New[T](-1, 2) })
	assert.PanicsWithValue(t, "dense: Of(2, 2): 3 elements given, want 2·2", func() { dense.Of(2, 2, data[:3]) })
	half := math.MaxInt/2 + 1
	assert.Panics(t, func() { dense.New[T](half, 4) }, "4·half is 0 as an int")
	assert.Panics(t, func() { dense.Of[T](half, 4, nil) })
}

func TestElements(t *testing.T) { densetest.Both(t, testElements[float32], testElements[float64]) }

func testViews[T dense.Float](t *testing.T) {
	m := densetest.Counted[T](5, 6, 7)
	v := m.RowRange(1, 4).ColRange(2, 5)
	require.Equal(t, [3]int{3, 3, 7}, [3]int{v.Rows, v.Cols, v.Stride})
	for i := range 3 {
		for j := range 3 {
			assert.Equal(t, m.At(i+1, j+2), v.At(i, j))
		}
	}
	v.Set(2, 2, 42)
	assert.Equal(t, T(42), m.At(3, 4), "a view shares memory")
	v.Check()
	assert.Equal(t, 2*7+3, cap(v.Data), "a view ends with its last element")

	for _, empty := range []dense.Matrix[T]{
		m.RowRange(2, 2), m.ColRange(3, 3), m.RowRange(5, 5), m.ColRange(6, 6),
		m.RowRange(0, 0).ColRange(0, 0), {}, dense.New[T](0, 4), dense.New[T](4, 0),
	} {
		empty.Check()
		for i := range empty.Rows {
			assert.Empty(t, empty.Row(i))
		}
		got := dense.Copy(dense.Matrix[T]{}, empty)
		assert.Equal(t, [2]int{empty.Rows, empty.Cols}, [2]int{got.Rows, got.Cols})
		assert.Empty(t, got.Data)
	}
	assert.NotNil(t, m.RowRange(2, 2).ColRange(1, 1).Data, "an empty view is not the zero Matrix")
	for _, r := range [][2]int{{-1, 2}, {2, 1}, {0, 7}} {
		assert.Panics(t, func() { m.RowRange(r[0], r[1]) }, "rows %v", r)
		assert.Panics(t, func() { m.ColRange(r[0], r[1]) }, "columns %v", r)
	}
	assert.PanicsWithValue(t, "dense: rows [0, 7) outside a 5×6 matrix", func() { m.RowRange(0, 7) })
	assert.PanicsWithValue(t, "dense: columns [2, 1) outside a 5×6 matrix", func() { m.ColRange(2, 1) })
}

func TestViews(t *testing.T) { densetest.Both(t, testViews[float32], testViews[float64]) }

func testEnsure[T dense.Float](t *testing.T) {
	assert.Equal(t, dense.New[T](2, 3), dense.Ensure(dense.Matrix[T]{}, 2, 3))
	m := densetest.Counted[T](2, 3, 4)
	got := dense.Ensure(m, 2, 3)
	assert.Equal(t, m, got)
	assert.Same(t, &m.Data[0], &got.Data[0], "dst itself")
	assert.PanicsWithValue(t, "dense: destination is 2×3, want 3×2", func() { dense.Ensure(m, 3, 2) })
	assert.PanicsWithValue(t, "dense: destination is 0×3, want 2×3", func() { dense.Ensure(m.RowRange(1, 1), 2, 3) })
	assert.PanicsWithValue(t, "dense: destination is 0×0, want 2×3", func() {
		dense.Ensure(m.RowRange(0, 0).ColRange(0, 0), 2, 3)
	}, "an empty view is not \"allocate\"")
	assert.PanicsWithValue(t, "dense: 0 elements cannot hold a 2×3 matrix of stride 3", func() {
		dense.Ensure(dense.Matrix[T]{Rows: 2, Cols: 3, Stride: 3}, 2, 3)
	})
	assert.Panics(t, func() { dense.Ensure(dense.Matrix[T]{Rows: 2, Cols: 3, Stride: 3, Data: make([]T, 5)}, 2, 3) }, "too little")
	none := dense.Ensure(dense.Matrix[T]{}, 0, 3)
	assert.Equal(t, [2]int{0, 3}, [2]int{none.Rows, none.Cols})
}

func TestEnsure(t *testing.T) { densetest.Both(t, testEnsure[float32], testEnsure[float64]) }

func testCheck[T dense.Float](t *testing.T) {
	data := make([]T, 12)
	for _, ok := range []dense.Matrix[T]{
		{}, {Rows: 3, Cols: 4, Stride: 4, Data: data}, {Rows: 2, Cols: 2, Stride: 10, Data: data},
		{Rows: 1, Cols: 5, Data: data}, {Rows: 4, Stride: 9}, {Cols: 4},
	} {
		assert.NotPanics(t, ok.Check, "%+v", ok)
	}
	for want, bad := range map[string]dense.Matrix[T]{
		"dense: matrix is -1×2: negative dimension":                                {Rows: -1, Cols: 2},
		"dense: matrix is 2×-1: negative dimension":                                {Rows: 2, Cols: -1},
		"dense: stride 3 of a 2×4 matrix is less than its 4 columns":               {Rows: 2, Cols: 4, Stride: 3, Data: data},
		"dense: 12 elements cannot hold a 3×4 matrix of stride 5":                  {Rows: 3, Cols: 4, Stride: 5, Data: data},
		"dense: 12 elements cannot hold a 1×13 matrix of stride 0":                 {Rows: 1, Cols: 13, Data: data},
		"dense: stride -8 of a 2×2 matrix is less than its 2 columns":              {Rows: 2, Cols: 2, Stride: -8, Data: data},
		"dense: 12 elements cannot hold a 1073741825×4 matrix of stride 536870912": {Rows: 1<<30 + 1, Cols: 4, Stride: 1 << 29, Data: data},
	} {
		assert.PanicsWithValue(t, want, bad.Check)
	}
}

func TestCheck(t *testing.T) { densetest.Both(t, testCheck[float32], testCheck[float64]) }

func testCopies[T dense.Float](t *testing.T) {
	m := densetest.Counted[T](3, 4, 6)
	clone := m.Clone()
	require.Equal(t, 4, clone.Stride)
	clone.Set(0, 0, 77)
	assert.Zero(t, m.At(0, 0), "a clone has its own memory")

	dst := densetest.Counted[T](5, 9, 9)
	dense.Copy(dst.RowRange(1, 4).ColRange(2, 6), m)
	for i := range 5 {
		for j := range 9 {
			want := T(100*i + j)
			if i >= 1 && i < 4 && j >= 2 && j < 6 {
				want = m.At(i-1, j-2)
			}
			assert.Equal(t, want, dst.At(i, j), "(%d, %d)", i, j)
		}
	}
	assert.Equal(t, m, dense.Copy(m, m), "onto itself")
	assert.PanicsWithValue(t, "dense: destination is 5×9, want 3×4", func() { dense.Copy(dst, m) })
}

func TestCopies(t *testing.T) { densetest.Both(t, testCopies[float32], testCopies[float64]) }

func testTranspose[T dense.Float](t *testing.T) {
	m := densetest.Counted[T](3, 4, 6)
	got := dense.Transpose(dense.Matrix[T]{}, m)
	require.Equal(t, [2]int{4, 3}, [2]int{got.Rows, got.Cols})
	for i := range 3 {
		for j := range 4 {
			assert.Equal(t, m.At(i, j), got.At(j, i))
		}
	}
	assert.Equal(t, m.Clone(), dense.Transpose(dense.Matrix[T]{}, got), "twice is the identity")

	wide := densetest.Counted[T](4, 5, 5)
	dense.Transpose(wide.ColRange(1, 4), m)
	assert.Equal(t, []T{100, 1, 101, 201, 104}, wide.Row(1), "what surrounds a view stays")
	assert.PanicsWithValue(t, "dense: destination is 3×4, want 4×3", func() { dense.Transpose(m, m) })
	none := dense.Transpose(dense.Matrix[T]{}, dense.New[T](0, 3))
	assert.Equal(t, [2]int{3, 0}, [2]int{none.Rows, none.Cols})
}

func TestTranspose(t *testing.T) { densetest.Both(t, testTranspose[float32], testTranspose[float64]) }
