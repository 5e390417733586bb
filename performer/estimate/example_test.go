package estimate_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/estimate"
)

// small returns n points of R^d with coordinates of about the given size.
func small(rng *rand.Rand, n, d int, size float64) dense.Matrix[float64] {
	x := dense.New[float64](n, d)
	for i := range x.Data {
		x.Data[i] = size * rng.NormFloat64()
	}
	return x
}

// An estimate whose expectation is exact attention, with its standard error. For 100 tokens exact
// attention is cheaper, so that the estimate needs a MaxCost.
//
//ci:slow
func ExampleUnbiased_Estimate() {
	const tokens, d = 100, 16
	src := exprand.NewSource(1)
	rng := rand.New(src)
	q, k, v := small(rng, tokens, d, 0.5), small(rng, tokens, d, 0.5), small(rng, tokens, 1, 1)

	u, err := estimate.NewUnbiased[float64](estimate.UnbiasedOptions{Dim: d, Features: 64, MaxCost: math.Inf(1)}, src)
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
