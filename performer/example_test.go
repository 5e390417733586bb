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

// Exact features of the kernel of elu+1, causal: the first row is the first
// value.
func ExampleNew() {
	phi, err := rff.Draw[float64](rff.ELU{D: 1}, nil)
	if err != nil {
		log.Fatal(err)
	}
	a, err := performer.NewLinear(phi, performer.LinearOptions{Causal: true})
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(3, 1, []float64{1, 0, -1})
	v := dense.Of(3, 1, []float64{6, 0, 0})
	fmt.Printf("%.4f\n", a.Forward(dense.Matrix[float64]{}, x, x, v).Data)
	// Output:
	// [6.0000 4.0000 3.5631]
}

// Two keys, one of them three times as likely.
func ExampleExact() {
	q := dense.Of(1, 1, []float64{1})
	k := dense.Of(2, 1, []float64{0, math.Log(3)})
	v := dense.Of(2, 2, []float64{1, 0, 0, 1})
	softmax, err := performer.NewExact[float64](performer.ExactOptions{})
	if err != nil {
		log.Fatal(err)
	}
	out := softmax.Forward(dense.Matrix[float64]{}, q, k, v)
	fmt.Printf("%.4f\n", out.Data)
	// Output:
	// [0.2500 0.7500]
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
