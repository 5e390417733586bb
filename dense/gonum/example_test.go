package gonum_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
)

func ExampleFromMat() {
	d := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	shared := gonum.FromMat[float64](d)
	shared.Set(0, 1, -2)
	fmt.Println(d.At(0, 1))
	fmt.Println(gonum.FromMat[float32](d.T()).Data)
	// Output:
	// -2
	// [1 3 -2 4]
}

func ExampleToMat() {
	m := dense.Of(2, 2, []float64{2, 0, 0, 4})
	fmt.Println(mat.Trace(gonum.ToMat(m)))
	// Output: 6
}
