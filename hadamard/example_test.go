package hadamard_test

import (
	"fmt"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
)

func ExampleTransform() {
	x := []float64{1, 0, 1, 0, 0, 1, 1, 0}
	hadamard.Transform(x)
	fmt.Println(x)
	hadamard.Transform(x) // twice is 8 times the original
	fmt.Println(x)
	// Output:
	// [4 2 0 -2 0 2 0 2]
	// [8 0 8 0 0 8 8 0]
}

func ExampleTransformRows() {
	x := dense.Of(2, 2, []float32{3, 1, 5, -2})
	hadamard.TransformRows(x)
	fmt.Println(x.Row(0), x.Row(1))
	// Output: [4 2] [3 7]
}

func ExampleMatrix() {
	h := hadamard.Matrix[float64](4)
	for i := range h.Rows {
		fmt.Println(h.Row(i))
	}
	// Output:
	// [1 1 1 1]
	// [1 -1 1 -1]
	// [1 1 -1 -1]
	// [1 -1 -1 1]
}

// One large coordinate becomes four of half its size, and comes back.
func ExampleRotation() {
	r, err := hadamard.NewRotation[float64](3, 1, exprand.NewSource(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	x := dense.Of(1, 3, []float64{0, 8, 0})
	y := r.Apply(dense.Matrix[float64]{}, x)
	fmt.Println(y.Row(0))
	fmt.Println(r.ApplyTransposed(dense.Matrix[float64]{}, y).At(0, 1))
	// Output:
	// [-4 4 -4 4]
	// 8
}
