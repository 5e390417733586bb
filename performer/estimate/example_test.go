package estimate_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"

	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/estimate"
	"github.com/seed-feabd252/randfeat/rff"
)

// small returns n points of R^d with coordinates of about the given size.
func small(rng *rand.Rand, n, d int, size float64) dense.Matrix[float64] {
	x := dense.New[float64](n, d)
	for i := range x.Data {
		x.Data[i] = size * rng.NormFloat64()
	}
	return x
}

// An estimate whose expectation is exact attention, and how far it may be off. For so few tokens
// exact attention is cheaper, and MaxCost lets the estimate run all the same.
//
//ci:slow
func ExampleUnbiased_Estimate() {
	const tokens, d = 100, 16
	src := exprand.NewSource(1)
	rng := rand.New(src)
	q, k, v := small(rng, tokens, d, 0.5), small(rng, tokens, d, 0.5), small(rng, tokens, 1, 1)

	u, err := estimate.NewUnbiased[float64](d, estimate.UnbiasedOptions{Features: 64, MaxCost: math.Inf(1)}, src)
	if err != nil {
		log.Fatal(err)
	}
	var zero dense.Matrix[float64]
	mean, stderr, err := u.Estimate(context.Background(), zero, zero, q, k, v)
	if err != nil {
		log.Fatal(err)
	}
	softmax, err := performer.NewExact[float64](performer.ExactOptions{})
	if err != nil {
		log.Fatal(err)
	}
	exact := softmax.Forward(zero, q, k, v)
	fmt.Printf("%.3f ± %.3f, exact %.3f\n", mean.At(0, 0), stderr.At(0, 0), exact.At(0, 0))
	// Output:
	// 0.041 ± 0.004, exact 0.046
}

// Whether m features are enough.
//
//ci:slow
func ExamplePredictor_Predict() {
	const tokens, d = 512, 16
	src := exprand.NewSource(1)
	rng := rand.New(src)
	q, v := small(rng, tokens, d, 0.7), small(rng, tokens, d, 1)
	for _, m := range []int{64, 256, 1024} {
		w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
		if err != nil {
			log.Fatal(err)
		}
		phi, err := rff.SoftmaxPositive(w, 0.25) // 1/√d
		if err != nil {
			log.Fatal(err)
		}
		p, err := estimate.NewPredictor[float64](phi, estimate.PredictorOptions{}, src)
		if err != nil {
			log.Fatal(err)
		}
		errors := p.Predict(nil, q, q, v)
		slices.Sort(errors)
		fmt.Printf("m = %d: %.1f\n", m, stat.Quantile(0.5, stat.Empirical, errors, nil))
	}
	// Output:
	// m = 64: 0.6
	// m = 256: 0.5
	// m = 1024: 0.3
}
