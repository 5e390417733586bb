package rff_test

import (
	"fmt"
	"log"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
)

// Coordinates in other units before a map.
func ExampleCompose() {
	first := rff.Affine{Factors: []float64{10, 1}, Offset: []float64{0, 1}}
	quadratic, err := rff.Draw[float64](rff.Quadratic{D: 2}, nil)
	if err != nil {
		log.Fatal(err)
	}
	f, err := rff.Compose(first, quadratic)
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(2, 2, []float64{0.1, 2, 0.3, 0})
	phi := f.Transform(dense.Matrix[float64]{}, x)
	fmt.Println(f.Kernel())
	fmt.Printf("%.0f = (1·3 + 3·1)²\n", floats.Dot(phi.Row(0), phi.Row(1)))
	// Output:
	// Pullback{K: Polynomial{Degree: 2, Gamma: 1, Offset: 0}, A: 2×2}
	// 36 = (1·3 + 3·1)²
}
