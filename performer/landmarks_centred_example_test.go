package performer_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// Keys have a mean far from zero, as keys of trained transformers do.
func ExampleLandmarkOptions() {
	const n, d, r = 500, 16, 64
	rng := rand.New(exprand.NewSource(1))
	q, k, v := dense.New[float64](n, d), dense.New[float64](n, d), dense.New[float64](n, d)
	for i := range n {
		for j := range d {
			q.Set(i, j, 0.7*rng.NormFloat64())
			k.Set(i, j, 0.7*rng.NormFloat64())
			v.Set(i, j, rng.NormFloat64())
		}
		k.Set(i, 3, k.At(i, 3)+6)
	}
	exact, err := performer.NewExact[float64](performer.ExactOptions{})
	if err != nil {
		log.Fatal(err)
	}
	want := exact.Forward(dense.Matrix[float64]{}, q, k, v)
	_, b, err := rff.SubtractMean(q)
	if err != nil {
		log.Fatal(err)
	}
	_, c, err := rff.SubtractMean(k)
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range []performer.LandmarkOptions[float64]{{Landmarks: r}, {Landmarks: r, QueryMean: b, KeyMean: c}} {
		l, err := performer.NewLandmarks(o, exprand.NewSource(2))
		if err != nil {
			log.Fatal(err)
		}
		out := l.Forward(dense.Matrix[float64]{}, q, k, v)
		fmt.Printf("%.2f\n", floats.Distance(out.Data, want.Data, 2)/floats.Norm(want.Data, 2))
	}
	// Output:
	// 0.45
	// 0.16
}
