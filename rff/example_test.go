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

// Orthogonal random Fourier features of the Gaussian kernel.
func ExampleGaussian() {
	src := exprand.NewSource(1)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 20000, 2, src)
	if err != nil {
		log.Fatal(err)
	}
	f, err := rff.Draw(rff.Gaussian{LengthScale: 2}, w)
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(2, 2, []float64{0, 0, 2, 1})
	phi := f.Transform(dense.Matrix[float64]{}, x)
	fmt.Println(f)
	fmt.Printf("estimate %.1f, kernel %.1f\n",
		floats.Dot(phi.Row(0), phi.Row(1)), f.Kernel().Eval(x.Row(0), x.Row(1)))
	// Output:
	// Gaussian(lengthScale=2): R^2 → R^40000
	// estimate 0.5, kernel 0.5
}

// Features that underflow have ordinary logarithms.
func ExampleSoftmaxPositive() {
	w, err := orf.Draw[float32](orf.GramSchmidt{}, 256, 8, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	f, err := rff.Draw(rff.SoftmaxPositive{Scale: 1}, w)
	if err != nil {
		log.Fatal(err)
	}
	x := dense.New[float32](1, 8)
	x.Set(0, 0, 30)
	phi := f.Transform(dense.Matrix[float32]{}, x)
	logs := f.(rff.LogMap[float32]).LogTransform(dense.Matrix[float32]{}, x)
	fmt.Println(phi.At(0, 0), logs.At(0, 0) < -300, math.IsInf(float64(logs.At(0, 0)), 0))
	// Output: 0 true false
}

// Queries and keys that are spread along different axes have a map each.
func ExampleSADERF() {
	src := exprand.NewSource(1)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 20000, 2, src)
	if err != nil {
		log.Fatal(err)
	}
	queries := dense.Of(3, 2, []float64{2, 0.1, -1, 0.2, -1, -0.1})
	keys := dense.Of(2, 2, []float64{0.1, 1, 0.2, -2})
	spec, err := rff.FitSADERF(queries, keys, 1)
	if err != nil {
		log.Fatal(err)
	}
	f, err := rff.Draw(spec, w)
	if err != nil {
		log.Fatal(err)
	}
	phi := f.Transform(dense.Matrix[float64]{}, queries)
	psi := rff.Keys(f).Transform(dense.Matrix[float64]{}, keys)
	fmt.Printf("estimate %.1f, kernel %.1f\n",
		floats.Dot(phi.Row(0), psi.Row(1)), f.Kernel().Eval(queries.Row(0), keys.Row(1)))
	// Output: estimate 1.2, kernel 1.2
}

// A map of one's own: features |wᵀx|, whose kernel is 2/π·‖x‖‖y‖ for x ⊥ y.
func ExampleNew() {
	w, err := orf.Draw[float64](orf.IID{}, 50000, 2, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	f, err := rff.New(rff.Scheme[float64]{F: []func(float64) float64{math.Abs}}, w)
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(2, 2, []float64{1, 0, 0, 1})
	phi := f.Transform(dense.Matrix[float64]{}, x)
	fmt.Printf("%.1f, expected %.1f\n", floats.Dot(phi.Row(0), phi.Row(1)), 2/math.Pi)
	// Output: 0.6, expected 0.6
}

// Three landmarks make a map of any kernel, exact where a point is one of them.
func ExampleNystroem() {
	landmarks := dense.Of(3, 1, []float64{0, 1, 2})
	f, err := rff.Nystroem(kernels.Laplacian{}, landmarks)
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(3, 1, []float64{0, 2, 0.5})
	phi := f.Transform(dense.Matrix[float64]{}, x)
	fmt.Printf("landmarks: %.4f, kernel %.4f\n", floats.Dot(phi.Row(0), phi.Row(1)), math.Exp(-2))
	fmt.Printf("elsewhere: %.4f, kernel %.4f\n", floats.Dot(phi.Row(2), phi.Row(2)), 1.0)
	// Output:
	// landmarks: 0.1353, kernel 0.1353
	// elsewhere: 0.5379, kernel 1.0000
}

// Points of a line in the plane have a Gram matrix of rank 1.
func ExampleSpectral() {
	x := dense.Of(3, 2, []float64{3, 4, 6, 8, -3, -4})
	f, err := rff.Spectral(kernels.DotProduct{}, x, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", f.Transform(dense.Matrix[float64]{}, x).Data)
	fmt.Printf("%.3f\n", f.Transform(dense.Matrix[float64]{}, dense.Of(1, 2, []float64{0.6, 0.8})).Data)
	_, err = rff.Spectral(kernels.DotProduct{}, x, 2)
	fmt.Println(err)
	// Output:
	// [5.000 10.000 -5.000]
	// [1.000]
	// rff: rank = 2 is more than the numerical rank 1 of the 3×3 Gram matrix of x
}
