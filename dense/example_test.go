package dense_test

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

func Example() {
	// Two tokens, two heads of dimension 3.
	x := dense.Of(2, 6, []float32{
		1, 2, 3, 10, 20, 30,
		4, 5, 6, 40, 50, 60,
	})
	second := x.ColRange(3, 6)
	fmt.Println(second.Rows, second.Cols, second.Stride)
	fmt.Println(second.Row(1))
	// Output:
	// 2 3 6
	// [40 50 60]
}

func ExampleEnsure() {
	double := func(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
		dst = dense.Ensure(dst, x.Rows, x.Cols)
		for i := range x.Rows {
			for j, v := range x.Row(i) {
				dst.Set(i, j, 2*v)
			}
		}
		return dst
	}
	x := dense.Of(1, 2, []float64{1, 2})
	fmt.Println(double(dense.Matrix[float64]{}, x).Data)
	fmt.Println(double(x, x).Data)
	// Output:
	// [2 4]
	// [2 4]
}
