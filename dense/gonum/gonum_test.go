package gonum_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func TestLayoutIsThatOfGonum(t *testing.T) {
	m := densetest.Counted[float64](2, 3, 4)
	assert.Equal(t, blas64.General{Rows: 2, Cols: 3, Data: m.Data, Stride: 4}, blas64.General(m))
}

func testFromMat[T dense.Float](t *testing.T) {
	d := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	want := dense.Of(2, 3, []T{1, 2, 3, 4, 5, 6})
	assert.Equal(t, want, gonum.FromMat[T](d))
	assert.Equal(t, dense.Of(3, 2, []T{1, 4, 2, 5, 3, 6}), gonum.FromMat[T](d.T()))
	assert.Equal(t, dense.Of(2, 2, []T{2, 3, 5, 6}), gonum.FromMat[T](d.Slice(0, 2, 1, 3)).Clone())
	sym := mat.NewSymDense(2, []float64{1, 7, -1, 2})
	assert.Equal(t, dense.Of(2, 2, []T{1, 7, 7, 2}), gonum.FromMat[T](sym))
	assert.Equal(t, dense.Of(2, 1, []T{8, 9}), gonum.FromMat[T](mat.NewVecDense(2, []float64{8, 9})))
	empty := gonum.FromMat[T](&mat.Dense{})
	assert.Equal(t, [2]int{0, 0}, [2]int{empty.Rows, empty.Cols})
}

func TestFromMat(t *testing.T) {
	densetest.Both(t, testFromMat[float32], testFromMat[float64])
	d := mat.NewDense(2, 3, nil)
	part := gonum.FromMat[float64](d.Slice(0, 2, 1, 3))
	part.Set(1, 1, 5)
	assert.Equal(t, 5.0, d.At(1, 2), "a *mat.Dense shares its memory")
}

func testToMat[T dense.Float](t *testing.T) {
	m := densetest.Counted[T](3, 4, 6)
	d := gonum.ToMat(m.ColRange(1, 3))
	assert.True(t, mat.Equal(mat.NewDense(3, 2, []float64{1, 2, 101, 102, 201, 202}), d))
	for _, none := range []dense.Matrix[T]{{}, dense.New[T](0, 3), dense.New[T](3, 0), m.RowRange(1, 1)} {
		assert.True(t, gonum.ToMat(none).IsEmpty())
	}
	row := gonum.ToMat(dense.Matrix[T]{Rows: 1, Cols: 3, Data: []T{1, 2, 3}})
	var product mat.Dense
	product.Mul(row, row.T())
	assert.Equal(t, 14.0, product.At(0, 0), "one row needs no stride")
}

func TestToMat(t *testing.T) {
	densetest.Both(t, testToMat[float32], testToMat[float64])
	m := densetest.Counted[float64](3, 4, 6)
	d := gonum.ToMat(m.RowRange(1, 3))
	require.Equal(t, 6, d.RawMatrix().Stride)
	d.Set(1, 2, 5)
	assert.Equal(t, 5.0, m.At(2, 2), "float64 shares memory")
	single := densetest.Counted[float32](1, 2, 2)
	gonum.ToMat(single).Set(0, 0, 5)
	assert.Zero(t, single.At(0, 0), "float32 is copied")
}

// rawMatrix is a mat.RawMatrixer that gonum has not made.
type rawMatrix struct {
	mat.Matrix
	raw blas64.General
}

func (m rawMatrix) RawMatrix() blas64.General { return m.raw }

// TestMalformed: what is no view is refused in the words of Check.
func TestMalformed(t *testing.T) {
	double, single := []float64{1, 2, 3, 4}, []float32{1, 2, 3, 4}
	for _, c := range []struct {
		rows, cols, stride int
		want               string
	}{
		{-1, 2, 2, "dense: matrix is -1×2: negative dimension"},
		{2, -1, 2, "dense: matrix is 2×-1: negative dimension"},
		{2, 3, 1, "dense: stride 1 of a 2×3 matrix is less than its 3 columns"},
		{2, 2, 0, "dense: stride 0 of a 2×2 matrix is less than its 2 columns"},
		{3, 2, 2, "dense: 4 elements cannot hold a 3×2 matrix of stride 2"},
		{2, 2, 3, "dense: 4 elements cannot hold a 2×2 matrix of stride 3"},
	} {
		m64 := dense.Matrix[float64]{Rows: c.rows, Cols: c.cols, Stride: c.stride, Data: double}
		m32 := dense.Matrix[float32]{Rows: c.rows, Cols: c.cols, Stride: c.stride, Data: single}
		assert.PanicsWithValue(t, c.want, func() { gonum.FromMat[float32](rawMatrix{raw: blas64.General(m64)}) })
		assert.PanicsWithValue(t, c.want, func() { gonum.FromMat[float64](rawMatrix{raw: blas64.General(m64)}) })
		assert.PanicsWithValue(t, c.want, func() { gonum.ToMat(m64) })
		assert.PanicsWithValue(t, c.want, func() { gonum.ToMat(m32) })
	}
}
