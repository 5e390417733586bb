package audit_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
	"github.com/seed-feabd252/randfeat/performer/blocks"
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

// The errors of linear attention and of attention by blocks of keys, from 64 rows.
//
//ci:slow
func ExampleMeasure() {
	const tokens, d = 2048, 16
	src := exprand.NewSource(1)
	rng := rand.New(src)
	q, k, v := small(rng, tokens, d, 0.5), small(rng, tokens, d, 0.5), small(rng, tokens, d, 1)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 256, d, src)
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.SoftmaxPositive{Scale: 0.25}, w) // 1/√d
	if err != nil {
		log.Fatal(err)
	}
	linear, err := performer.NewLinear(phi, performer.LinearOptions{})
	if err != nil {
		log.Fatal(err)
	}
	near, err := blocks.New[float64](blocks.Options{Threshold: 0.05, EightBits: true})
	if err != nil {
		log.Fatal(err)
	}
	softmax, err := performer.NewExact[float64](performer.ExactOptions{})
	if err != nil {
		log.Fatal(err)
	}
	reports, err := audit.Measure(context.Background(), softmax, q, k, v, audit.Options{}, src, linear, near)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range reports {
		fmt.Println(r)
	}
	// Output:
	// error 13 % (95 %: 11.8 … 14.5 %), 9 of 10 rows within 20 %, worst 24 % of 64 rows; plain averages 23 %
	// error 16.6 % (95 %: 15.8 … 17.5 %), 9 of 10 rows within 20 %, worst 23 % of 64 rows; plain averages 23 %
}
