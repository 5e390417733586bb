package kernelridge_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
)

// A kernel and λ are chosen on some rows, and the fit of all rows predicts with a band.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := ridge.Block[float64]{X: dense.New[float64](300, 2), Y: dense.New[float64](300, 1)}
	for i := range 300 {
		u, v := 4*rng.Float64(), 4*rng.Float64()
		copy(rows.X.Row(i), []float64{u, v})
		rows.Y.Set(i, 0, math.Sin(2*u)*math.Cos(v)+0.1*rng.NormFloat64())
	}
	candidates := []kernels.Kernel{kernels.Gaussian{LengthScale: 0.2}, kernels.Gaussian{LengthScale: 1}, kernels.Gaussian{LengthScale: 5}}
	choice, err := kernelridge.Choose(context.Background(), candidates, rows, rng)
	if err != nil {
		fmt.Println(err)
		return
	}
	k := candidates[choice.Kernel]
	fit, err := kernelridge.Fit(context.Background(), k, rows, kernelridge.Options{Ratio: choice.Ratio, Probes: 4, Src: rng})
	if err != nil {
		fmt.Println(err)
		return
	}
	mean, half := fit.Model.Band(dense.Of(1, 2, []float64{1, 2}), 0.9)
	fmt.Println(k)
	fmt.Printf("%.1f ± %.1f, truth %.1f\n", mean.At(0, 0), half.At(0, 0), math.Sin(2)*math.Cos(2))
	// Output:
	// Gaussian{LengthScale: 1}
	// -0.4 ± 0.2, truth -0.4
}
