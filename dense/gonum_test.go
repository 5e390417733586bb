package dense

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

func TestLayoutIsThatOfGonum(t *testing.T) {
	m := counted[float64](2, 3, 4)
	assert.Equal(t, blas64.General{Rows: 2, Cols: 3, Data: m.Data, Stride: 4}, blas64.General(m))
}

func testFromMat[T Float](t *testing.T) {
	d := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	want := Of(2, 3, []T{1, 2, 3, 4, 5, 6})
	assert.Equal(t, want, FromMat[T](d))
	assert.Equal(t, Of(3, 2, []T{1, 4, 2, 5, 3, 6}), FromMat[T](d.T()))
	assert.Equal(t, Of(2, 2, []T{2, 3, 5, 6}), FromMat[T](d.Slice(0, 2, 1, 3)).Clone())
	sym := mat.NewSymDense(2, []float64{1, 7, -1, 2})
	assert.Equal(t, Of(2, 2, []T{1, 7, 7, 2}), FromMat[T](sym))
	assert.Equal(t, Of(2, 1, []T{8, 9}), FromMat[T](mat.NewVecDense(2, []float64{8, 9})))
	empty := FromMat[T](&mat.Dense{})
	assert.Equal(t, [2]int{0, 0}, [2]int{empty.Rows, empty.Cols})
}

func TestFromMat(t *testing.T) {
	both(t, testFromMat[float32], testFromMat[float64])
	d := mat.NewDense(2, 3, nil)
	part := FromMat[float64](d.Slice(0, 2, 1, 3))
	part.Set(1, 1, 5)
	assert.Equal(t, 5.0, d.At(1, 2), "a *mat.Dense shares its memory")
}

func testToMat[T Float](t *testing.T) {
	m := counted[T](3, 4, 6)
	d := ToMat(m.ColRange(1, 3))
	assert.True(t, mat.Equal(mat.NewDense(3, 2, []float64{1, 2, 101, 102, 201, 202}), d))
	for _, none := range []Matrix[T]{{}, New[T](0, 3), New[T](3, 0), m.RowRange(1, 1)} {
		assert.True(t, ToMat(none).IsEmpty())
	}
	row := ToMat(Matrix[T]{Rows: 1, Cols: 3, Data: []T{1, 2, 3}})
	var product mat.Dense
	product.Mul(row, row.T())
	assert.Equal(t, 14.0, product.At(0, 0), "one row needs no stride")
}

func TestToMat(t *testing.T) {
	both(t, testToMat[float32], testToMat[float64])
	m := counted[float64](3, 4, 6)
	d := ToMat(m.RowRange(1, 3))
	require.Equal(t, 6, d.RawMatrix().Stride)
	d.Set(1, 2, 5)
	assert.Equal(t, 5.0, m.At(2, 2), "float64 shares memory")
	single := counted[float32](1, 2, 2)
	ToMat(single).Set(0, 0, 5)
	assert.Zero(t, single.At(0, 0), "float32 is copied")
}

func TestBLAS32(t *testing.T) {
	x := blas32.General{Rows: 2, Cols: 2, Stride: 3, Data: []float32{1, 2, -1, 3, 4}}
	m := FromBLAS32(x)
	require.Equal(t, Matrix[float32]{Rows: 2, Cols: 2, Stride: 3, Data: x.Data}, m)
	m.Set(1, 0, 7)
	assert.Equal(t, float32(7), x.Data[3], "from shares memory")
	assert.Equal(t, x, ToBLAS32(m), "there and back")
	part := ToBLAS32(m.ColRange(1, 2))
	require.Equal(t, blas32.General{Rows: 2, Cols: 1, Stride: 3, Data: []float32{2, -1, 7, 4}}, part)
	part.Data[3] = 9
	assert.Equal(t, float32(9), m.At(1, 1), "to shares memory")

	// With a stride of 0, which is enough for Check, Gemm would panic.
	row := ToBLAS32(Matrix[float32]{Rows: 1, Cols: 3, Data: []float32{1, 2, 3}})
	out := ToBLAS32(New[float32](1, 1))
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, row, row, 0, out)
	assert.Equal(t, []float32{14}, out.Data)
	for _, none := range []Matrix[float32]{{}, New[float32](0, 3), New[float32](3, 0), m.RowRange(1, 1)} {
		back := FromBLAS32(ToBLAS32(none))
		assert.Equal(t, [2]int{none.Rows, none.Cols}, [2]int{back.Rows, back.Cols})
	}
}
