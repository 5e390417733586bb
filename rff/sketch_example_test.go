package rff_test

import (
	"fmt"
	"log"
	"math"

	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// Complex weights have less variance than real ones.
func ExamplePolynomialSketch() {
	k := kernels.Polynomial{Degree: 3, Offset: 1}
	f, err := rff.PolynomialSketch[float64](40000, 2, k, rff.ComplexRademacherWeights, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(2, 2, []float64{0.5, 0.5, 1, 0})
	phi := f.Transform(dense.Matrix[float64]{}, x)
	fmt.Println(f)
	fmt.Printf("estimate %.1f, kernel %.1f\n", floats.Dot(phi.Row(0), phi.Row(1)), k.Eval(x.Row(0), x.Row(1)))
	// Output:
	// PolynomialSketch(Polynomial{Degree: 3, Gamma: 1, Offset: 1}, ComplexRademacherWeights): R^2 → R^40000
	// estimate 3.4, kernel 3.4
}

// Degree 1 is a count sketch: every coordinate goes to one bucket.
func ExampleTensorSketch() {
	f, err := rff.TensorSketch[float64](4, 1, kernels.Polynomial{Degree: 1}, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	phi := f.Transform(dense.Matrix[float64]{}, dense.Of(1, 1, []float64{3}))
	fmt.Println(floats.Norm(phi.Row(0), 1))
	// Output: 3
}

// The exponential of the inner product, by the first terms of its series.
func ExampleMaclaurin() {
	k := kernels.Maclaurin{Coefficients: []float64{1, 1, 1. / 2, 1. / 6, 1. / 24}}
	degrees, err := rff.RadiusDegrees(k, 1)
	if err != nil {
		log.Fatal(err)
	}
	f, err := rff.Maclaurin[float64](60000, 2, k, degrees, rff.RademacherWeights, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(2, 2, []float64{0.6, 0.5, 1, 0})
	phi := f.Transform(dense.Matrix[float64]{}, x)
	fmt.Printf("estimate %.1f, exponential %.1f\n", floats.Dot(phi.Row(0), phi.Row(1)), math.Exp(0.6))
	// Output: estimate 1.8, exponential 1.8
}

// Rectified linear features of attention, whose kernel is known.
func ExampleGeneralised() {
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 20000, 2, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	f, err := rff.Generalised(w, kernels.Generalised{F: kernels.ReLU})
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(2, 2, []float64{1, 0, 0, 2})
	phi := f.Transform(dense.Matrix[float64]{}, x)
	fmt.Printf("estimate %.1f, kernel %.1f\n", floats.Dot(phi.Row(0), phi.Row(1)), f.Kernel().Eval(x.Row(0), x.Row(1)))
	// Output: estimate 0.3, kernel 0.3
}

// Three features for each bin of a histogram, which are some per cent too small.
func ExampleAdditiveChiSquare() {
	f, err := rff.AdditiveChiSquare[float64](3, 2, 0)
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(2, 3, []float64{0.5, 0.5, 0, 0.25, 0.25, 0.5})
	phi := f.Transform(dense.Matrix[float64]{}, x)
	fmt.Println(f)
	fmt.Printf("features %.2f, kernel %.2f\n", floats.Dot(phi.Row(0), phi.Row(1)), f.Kernel().Eval(x.Row(0), x.Row(1)))
	// Output:
	// AdditiveChiSquare(sampleSteps=2, sampleInterval=0.5): R^3 → R^9
	// features 0.62, kernel 0.67
}

// A histogram kernel that smooths by c.
func ExampleSkewedChiSquare() {
	f, err := rff.SkewedChiSquare[float64](20000, 2, 1, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(2, 2, []float64{0, 3, 2, 0})
	phi := f.Transform(dense.Matrix[float64]{}, x)
	fmt.Printf("estimate %.1f, kernel %.1f\n", floats.Dot(phi.Row(0), phi.Row(1)), f.Kernel().Eval(x.Row(0), x.Row(1)))
	// Output: estimate 0.7, kernel 0.7
}
