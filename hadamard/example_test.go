package hadamard_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
)

func ExampleTransform() {
	x := []float64{1, 0, 1, 0, 0, 1, 1, 0}
	hadamard.Transform(x)
	fmt.Println(x)
	hadamard.Transform(x) // n = 8 times the original, because 8 is a power of two
	fmt.Println(x)
	// Output:
	// [4 2 0 -2 0 2 0 2]
	// [8 0 8 0 0 8 8 0]
}

// One large coordinate becomes four of half its size, and comes back.
func ExampleRotation() {
	r, err := hadamard.NewRotation[float64](3, hadamard.RotationOptions{Factors: 1}, exprand.NewSource(1))
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

// The inverse of Transform is TransformTransposed and a division by n. Order 12 comes from Paley's
// construction: 12 = 11 + 1.
func ExampleTransformTransposed() {
	x := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}
	hadamard.Transform(x)
	hadamard.TransformTransposed(x)
	for i := range x {
		x[i] /= float64(len(x))
	}
	fmt.Println(x)
	// Output: [3 1 4 1 5 9 2 6 5 3 5 8]
}

// A square wave that changes sign three times has one coefficient, at 3.
func ExampleSequencyOrder() {
	x := []float64{1, 1, -1, -1, 1, 1, -1, -1}
	hadamard.Transform(x)
	order := hadamard.SequencyOrder(len(x))
	for s, i := range order {
		if x[i] != 0 {
			fmt.Println("sequency", s, "coefficient", x[i]/8)
		}
	}
	fmt.Println(order)
	// Output:
	// sequency 3 coefficient 1
	// [0 4 6 2 3 7 5 1]
}

// A query is rotated in place. The seed is kept beside the index, and draws the rotation again.
func ExampleRotation_ApplyVec() {
	r, err := hadamard.NewRotation[float32](300, hadamard.RotationOptions{}, exprand.NewSource(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	in, out := r.Dims()
	v := make([]float32, out) // with room for the padding
	v[7] = 16
	r.ApplyVec(v, v[:in])

	again, err := hadamard.NewRotation[float32](300, hadamard.RotationOptions{}, exprand.NewSource(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	x := again.ApplyTransposedVec(nil, v)
	fmt.Printf("%d → %d, x₇ = %.2f\n", in, out, x[7])
	// Output: 300 → 320, x₇ = 16.00
}

// A vector with one large channel is rounded to 4 bits. Without a rotation most small channels
// become 0. The relative error of the small channels falls from 0.98 to 0.21 with a rotation.
func ExampleRotation_rounding() {
	const d = 256
	r, err := hadamard.NewRotation[float64](d, hadamard.RotationOptions{Factors: 1}, exprand.NewSource(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	round := func(x []float64) {
		step := floats.Norm(x, math.Inf(1)) / 7
		for i, v := range x {
			x[i] = math.RoundToEven(v/step) * step
		}
	}
	rng := rand.New(exprand.NewSource(2))
	x := make([]float64, d)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	x[0] = 30
	direct, rotated := slices.Clone(x), r.ApplyVec(nil, x)
	round(direct)
	round(rotated)
	back := r.ApplyTransposedVec(nil, rotated)
	small := floats.Norm(x[1:], 2)
	fmt.Printf("direct %.2f, rotated %.2f\n", floats.Distance(direct[1:], x[1:], 2)/small, floats.Distance(back[1:], x[1:], 2)/small)
	// Output: direct 0.98, rotated 0.21
}
