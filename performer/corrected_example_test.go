package performer_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
)

// Tokens of a text are words, few of them frequent. Rare words have no landmark: samples find them,
// and a window knows those nearby.
func ExampleCorrected() {
	const tokens, words, d = 2000, 300, 64
	rng := rand.New(rand.NewPCG(1, 2))
	vectors := dense.New[float64](words, d)
	for w := range words {
		for j := range d {
			vectors.Row(w)[j] = rng.NormFloat64()
		}
	}
	q, v := dense.New[float64](tokens, d), dense.New[float64](tokens, d)
	for i := range tokens {
		w := int(math.Pow(words, rng.Float64())) - 1 // word w has a probability of about 1/w
		for j, x := range vectors.Row(w) {
			q.Row(i)[j], v.Row(i)[j] = 0.7*x, x
		}
	}

	landmarks, err := performer.NewLandmarks(performer.Exact[float64]{}, 128, rand.NewPCG(3, 4))
	if err != nil {
		log.Fatal(err)
	}
	forms := []performer.Form[float64]{landmarks}
	options := []performer.CorrectedOptions{{}, {Window: 64}, {Samples: 64}, {Window: 64, Samples: 64}}
	for _, o := range options[1:] {
		form, err := performer.NewCorrected(landmarks, o, rand.NewPCG(5, 6))
		if err != nil {
			log.Fatal(err)
		}
		forms = append(forms, form)
	}
	reports, err := audit.Rows(context.Background(), performer.Exact[float64]{}, q, q, v, audit.Options{Rows: tokens}, rand.NewPCG(7, 8), forms...)
	if err != nil {
		log.Fatal(err)
	}
	for i, r := range reports {
		fmt.Printf("%+v: off by %.0f %%\n", options[i], 100*r.Error)
	}
	// Output:
	// {Window:0 Samples:0}: off by 8 %
	// {Window:64 Samples:0}: off by 5 %
	// {Window:0 Samples:64}: off by 5 %
	// {Window:64 Samples:64}: off by 4 %
}
