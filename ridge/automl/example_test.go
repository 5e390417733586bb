package automl_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// The prices of things by length and weight, in units of their own.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := dense.New[float64](100, 2), dense.New[float64](100, 1)
	for i := range x.Rows {
		metres, grams := rng.Float64(), 5000*rng.Float64()
		x.Set(i, 0, metres)
		x.Set(i, 1, grams)
		y.Set(i, 0, 100+20*math.Sin(6*metres)+grams/1000+0.1*rng.NormFloat64())
	}
	found, err := automl.Fit(context.Background(), ridge.Block[float64]{X: x, Y: y}, automl.Options{}, rand.NewPCG(3, 4))
	if err != nil {
		log.Fatal(err)
	}
	q := found.Model.Quantiles(dense.Of(1, 2, []float64{0.5, 3000}), 0.05, 0.5, 0.95)
	fmt.Printf("%.1f, from %.1f to %.1f\n", q[1].At(0, 0), q[0].At(0, 0), q[2].At(0, 0))
	// Output: 105.8, from 105.6 to 106.0
}
