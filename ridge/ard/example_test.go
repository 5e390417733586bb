package ard_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/ard"
)

// Two of six columns matter, in units far apart.
func Example() {
	src := rand.NewPCG(1, 2)
	rng := rand.New(src)
	x, y := dense.New[float64](1000, 6), dense.New[float64](1000, 1)
	for i := range x.Rows {
		for j := range x.Cols {
			x.Set(i, j, rng.Float64())
		}
		x.Row(i)[4] *= 1000
		y.Set(i, 0, math.Sin(8*x.At(i, 1))+x.At(i, 4)/1000+0.1*rng.NormFloat64())
	}

	w, err := orf.Draw[float64](orf.GramSchmidt{}, 64, x.Cols, src)
	if err != nil {
		log.Fatal(err)
	}
	psi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w) // of scaled points
	if err != nil {
		log.Fatal(err)
	}
	found, err := ard.Fit(context.Background(), psi, ridge.Block[float64]{X: x, Y: y}, ard.Options{}, src)
	if err != nil {
		log.Fatal(err)
	}
	for j, r := range found.Relevance {
		if r > 0.01 {
			fmt.Printf("column %d: length-scale %.1g\n", j, found.Scales[j])
		}
	}
	mean, sd := found.Model.Predict(dense.Of(1, 6, []float64{0.5, 0.5, 0.5, 0.5, 500, 0.5}))
	fmt.Printf("%.2f ± %.2f (%.2f)\n", mean.At(0, 0), sd.At(0, 0), math.Sin(4)+0.5)
	// Output:
	// column 1: length-scale 0.3
	// column 4: length-scale 3e+03
	// -0.25 ± 0.10 (-0.26)
}
