package givens_test

import (
	"fmt"
	"math"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/givens"
)

// A sixth of a turn from axis 0 towards axis 2.
func ExampleNewRotation() {
	g, err := givens.NewRotation[float64](0, 2, math.Pi/3)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{2, 5, 0}
	g.ApplyVec(x, x)
	fmt.Printf("%.3f\n", x)
	g.Inverse().ApplyVec(x, x)
	fmt.Printf("%.3f\n", x)
	// Output:
	// [1.000 5.000 1.732]
	// [2.000 5.000 0.000]
}

// A random rotation of R¹⁰ keeps norms and can be undone.
func ExampleRandomProduct() {
	p, err := givens.RandomProduct[float64](10, 0, exprand.NewSource(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{3, 4, 0, 0, 0, 0, 0, 0, 0, 0}
	p.ApplyVec(x, x)
	norm := 0.0
	for _, v := range x {
		norm += v * v
	}
	fmt.Printf("%d rotations, norm %.6f\n", p.Len(), math.Sqrt(norm))
	p.ApplyTransposedVec(x, x)
	fmt.Printf("%.3f %.3f\n", x[0], x[1])
	// Output:
	// 34 rotations, norm 5.000000
	// 3.000 4.000
}
