package hypothesis_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hypothesis"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Two samples with the same means and variances. One of them is bimodal.
func ExampleTwoSample() {
	src := rand.NewPCG(1, 2)
	rng := rand.New(src)
	x, y := dense.New[float64](200, 1), dense.New[float64](300, 1)
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	for i := range y.Data {
		y.Data[i] = float64(2*rng.IntN(2)-1)*0.9 + math.Sqrt(1-0.81)*rng.NormFloat64()
	}
	both := dense.Of(500, 1, append(append([]float64{}, x.Data...), y.Data...))
	length, err := ridge.MedianDistance(both, src)
	if err != nil {
		log.Fatal(err)
	}
	w, err := orf.Draw[float64](orf.IID{}, 64, 1, src)
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: length}, w)
	if err != nil {
		log.Fatal(err)
	}
	r, err := hypothesis.TwoSample(context.Background(), phi, x, y, hypothesis.Options{}, src)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("p = %.3f\n", r.P)
	// Output: p = 0.001
}

// The coordinates of points on a noisy circle are uncorrelated but dependent.
func ExampleIndependence() {
	src := rand.NewPCG(1, 2)
	rng := rand.New(src)
	x, y := dense.New[float64](300, 1), dense.New[float64](300, 1)
	for i := range x.Data {
		angle := 2 * math.Pi * rng.Float64()
		x.Data[i] = math.Cos(angle) + 0.3*rng.NormFloat64()
		y.Data[i] = math.Sin(angle) + 0.3*rng.NormFloat64()
	}
	w, err := orf.Draw[float64](orf.IID{}, 25, 1, src)
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 0.7}, w)
	if err != nil {
		log.Fatal(err)
	}
	r, err := hypothesis.Independence(context.Background(), phi, phi, x, y, hypothesis.Options{}, src)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("p = %.3f\n", r.P)
	// Output: p = 0.001
}
