package performer_test

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// Linear attention with positive orthogonal random features comes near exact
// attention.
func Example() {
	const tokens, d, m = 512, 16, 1024
	src := exprand.NewSource(1)
	rng := rand.New(src)
	normal := func() dense.Matrix[float64] {
		x := dense.New[float64](tokens, d)
		for i := range x.Data {
			x.Data[i] = rng.NormFloat64() / 2
		}
		return x
	}
	q, k, v := normal(), normal(), normal()

	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.SoftmaxPositive{Scale: 1 / math.Sqrt(d)}, w)
	if err != nil {
		log.Fatal(err)
	}
	linear, err := performer.NewLinear(phi, performer.LinearOptions{})
	if err != nil {
		log.Fatal(err)
	}

	var zero dense.Matrix[float64]
	estimate := linear.Forward(zero, q, k, v)
	softmax, err := performer.NewExact[float64](performer.ExactOptions{})
	if err != nil {
		log.Fatal(err)
	}
	exact := softmax.Forward(zero, q, k, v)
	var distance, size float64
	for i, x := range exact.Data {
		distance = math.Hypot(distance, estimate.Data[i]-x)
		size = math.Hypot(size, x)
	}
	fmt.Printf("relative error %.2f\n", distance/size)
	// Output:
	// relative error 0.06
}

func ExampleAttend_weights() {
	q := dense.TensorOf(1, 1, 2, 1, []float64{1, 1})
	k := dense.TensorOf(1, 1, 2, 1, []float64{0, math.Log(3)})
	softmax, err := performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})
	if err != nil {
		log.Fatal(err)
	}
	r, err := performer.Attend(softmax, performer.AttendArgs[float64]{Q: q, K: k, V: k, Scores: performer.ScoresAfterSoftmax})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", r.Scores.Data)
	// Output:
	// [1.0000 0.0000 0.2500 0.7500]
}
