package kernels_test

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

func ExampleGram() {
	x := dense.Of(3, 2, []float64{
		0, 0,
		1, 0,
		1, 2,
	})
	k := kernels.Gaussian{LengthScale: 2}
	g := kernels.Gram(dense.Matrix[float64]{}, k, x, dense.Matrix[float64]{})
	fmt.Println(k)
	for i := range g.Rows {
		fmt.Printf("%.4f\n", g.Row(i))
	}
	// Output:
	// Gaussian{LengthScale: 2}
	// [1.0000 0.8825 0.5353]
	// [0.8825 1.0000 0.6065]
	// [0.5353 0.6065 1.0000]
}

func ExampleSum() {
	k := kernels.Sum{
		kernels.Scaled{K: kernels.Matern{Nu: 2.5}, By: 3},
		kernels.Product{kernels.DotProduct{}, kernels.Gaussian{LengthScale: 10}},
	}
	fmt.Println(k)
	fmt.Printf("%.4f\n", k.Eval([]float64{1, 2}, []float64{1, 2}))
	// Output:
	// (3 · Matern{Nu: 2.5, LengthScale: 1}) + (DotProduct{} · Gaussian{LengthScale: 10})
	// 8.0000
}

// cosine is a kernel of one's own.
type cosine struct{}

func (cosine) Eval(x, y []float64) float64 {
	var xy, xx, yy float64
	for i := range x {
		xy += x[i] * y[i]
		xx += x[i] * x[i]
		yy += y[i] * y[i]
	}
	return xy / math.Sqrt(xx*yy)
}

func ExampleKernel() {
	x := dense.Of(2, 2, []float32{1, 0, 3, 4})
	fmt.Println(kernels.Gram(dense.Matrix[float32]{}, cosine{}, x, dense.Matrix[float32]{}).Data)
	// Output: [1 0.6 0.6 1]
}
