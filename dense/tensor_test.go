package dense_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
)

func ascending(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	return x
}

// Element (b, h, i, j) is where the two orders in memory have it.
func TestTensorOrders(t *testing.T) {
	const batch, heads, rows, cols = 2, 3, 4, 5
	data := ascending(batch * heads * rows * cols)
	apart := dense.TensorOf(batch, heads, rows, cols, data)
	beside := dense.SplitHeads(dense.Of(batch*rows, heads*cols, data), batch, heads)
	assert.Equal(t, [4]int{batch, heads, rows, cols}, beside.Shape())
	for b := range batch {
		for h := range heads {
			for i := range rows {
				for j := range cols {
					assert.Equal(t, float64(((b*heads+h)*rows+i)*cols+j), apart.Row(b, h, i)[j])
					assert.Equal(t, float64(((b*rows+i)*heads+h)*cols+j), beside.Row(b, h, i)[j])
					assert.Equal(t, apart.Row(b, h, i)[j], dense.Head(apart, b, h).At(i, j))
					assert.Equal(t, beside.Row(b, h, i)[j], dense.Head(beside, b, h).At(i, j))
				}
			}
		}
	}
	dense.Head(beside, 1, 2).Set(0, 0, -1)
	assert.Equal(t, -1.0, data[(4*3+2)*5], "views share memory")
	wide := dense.New[float64](4, 10).ColRange(2, 8)
	assert.Equal(t, 10, dense.SplitHeads(wide, 2, 2).Stride)
}

// JoinHeads undoes SplitHeads, and CopyTensor changes the order in memory.
func TestJoinHeads(t *testing.T) {
	const batch, heads, rows, cols = 2, 3, 4, 5
	x := dense.Of(batch*rows, heads*cols, ascending(batch*heads*rows*cols))
	beside := dense.SplitHeads(x, batch, heads)
	apart := dense.CopyTensor(dense.Tensor[float64]{}, beside)
	assert.Equal(t, dense.TensorOf(batch, heads, rows, cols, apart.Data), apart)
	assert.Equal(t, beside.Row(1, 2, 3), apart.Row(1, 2, 3))
	assert.Equal(t, x, dense.JoinHeads(dense.Matrix[float64]{}, apart))
	wide := dense.New[float64](batch*rows, heads*cols+2)
	assert.Equal(t, x, dense.JoinHeads(wide.ColRange(1, heads*cols+1), beside).Clone())
	assert.Zero(t, wide.At(0, 0)+wide.At(batch*rows-1, heads*cols+1), "elements beside dst")
	assert.Equal(t, dense.New[float64](0, 6), dense.JoinHeads(dense.Matrix[float64]{}, dense.NewTensor[float64](0, 2, 4, 3)))
	assert.Zero(t, dense.JoinHeads(dense.Matrix[float64]{}, dense.NewTensor[float64](2, 0, 4, 3)).Cols)
	assert.Equal(t, []bool{true}, dense.CopyTensor(dense.NewTensor[bool](1, 1, 1, 1), dense.TensorOf(1, 1, 1, 1, []bool{true})).Data)
	assert.PanicsWithValue(t, "dense: CopyTensor of [2 3 4 5] to [1 1 1 1]", func() { dense.CopyTensor(dense.NewTensor[float64](1, 1, 1, 1), apart) })
	assert.Panics(t, func() { dense.JoinHeads(dense.New[float64](1, 1), apart) })
	assert.Zero(t, testing.AllocsPerRun(10, func() { dense.JoinHeads(x, apart) }))
}

func TestTensorEmpty(t *testing.T) {
	assert.True(t, dense.Tensor[bool]{}.IsZero())
	empty := dense.NewTensor[float32](2, 1, 0, 3)
	assert.False(t, empty.IsZero())
	assert.Equal(t, 0, dense.Head(empty, 1, 0).Rows)
	assert.Equal(t, 3, dense.Head(empty, 1, 0).Cols)
	assert.Empty(t, dense.NewTensor[bool](1, 1, 2, 0).Row(0, 0, 1))
	shared := dense.Tensor[bool]{Batch: 5, Heads: 4, Rows: 2, Cols: 2, Stride: 2, Data: []bool{true, false, false, true}}
	shared.Check()
	assert.Equal(t, []bool{false, true}, shared.Row(4, 3, 1))
}

func TestTensorPanics(t *testing.T) {
	x := dense.NewTensor[float64](2, 3, 4, 5)
	for want, f := range map[string]func(){
		"dense: TensorOf(2, 3, 4, 5): 119 elements given, want 2·3·4·5":                                            func() { dense.TensorOf(2, 3, 4, 5, make([]bool, 119)) },
		"dense: TensorOf(-1, 3, 4, 5): 0 elements given, want -1·3·4·5":                                            func() { dense.TensorOf(-1, 3, 4, 5, []bool{}) },
		"dense: NewTensor(1, -2, 4, 5): a count of -2, want at least 0":                                            func() { dense.NewTensor[float32](1, -2, 4, 5) },
		"dense: SplitHeads of 4×6: batch = 3, heads = 2, want divisors of rows and columns":                        func() { dense.SplitHeads(dense.New[float64](4, 6), 3, 2) },
		"dense: SplitHeads of 4×6: batch = 2, heads = 0, want divisors of rows and columns":                        func() { dense.SplitHeads(dense.New[float64](4, 6), 2, 0) },
		"dense: head (2, 0) outside a tensor of [2 3 4 5]":                                                         func() { dense.Head(x, 2, 0) },
		"dense: row 4 outside a tensor of [2 3 4 5]":                                                               func() { x.Row(0, 0, 4) },
		"dense: 119 elements cannot hold a tensor of [2 3 4 5] with strides [60 20 5 1]":                           func() { y := x; y.Data = y.Data[:119]; y.Check() },
		"dense: stride 4 of a tensor of [2 3 4 5] is less than its 5 columns":                                      func() { y := x; y.Stride = 4; y.Check() },
		"dense: tensor of [2 3 4 5] with strides [60 -20 5 1]: negative side or stride":                            func() { y := x; y.HeadStride = -20; y.Check() },
		fmt.Sprintf("dense: 120 elements cannot hold a tensor of [2 3 4 5] with strides [60 %d 5 1]", math.MaxInt): func() { y := x; y.HeadStride = math.MaxInt; y.Check() },
	} {
		assert.PanicsWithValue(t, want, f)
	}
	assert.Panics(t, func() { dense.NewTensor[float64](math.MaxInt, math.MaxInt, 1, 0) })
	assert.Panics(t, func() { dense.Tensor[bool]{Batch: math.MaxInt, Heads: math.MaxInt}.Check() })
}

func ExampleSplitHeads() {
	// One sequence of two tokens, each with two heads of two numbers: (B, L, H·d) = (1, 2, 4).
	x := dense.Of(2, 4, []float64{1, 2, 3, 4, 5, 6, 7, 8})
	t := dense.SplitHeads(x, 1, 2)
	fmt.Println(t.Shape(), dense.Head(t, 0, 1).Clone().Data)
	// Output:
	// [1 2 2 2] [3 4 7 8]
}
