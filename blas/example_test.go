package blas_test

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/blas"
)

// After Use, gonum's own matrices multiply with this package.
func Example() {
	blas64.Use(blas.Implementation{})
	a := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	var c mat.Dense
	c.Mul(a, a.T())
	fmt.Println(mat.Formatted(&c))
	// Output:
	// ⎡14  32⎤
	// ⎣32  77⎦
}
