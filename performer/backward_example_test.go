package performer_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// Queries are learnt that fetch the value of the last of three keys.
func ExampleLinear_Backward() {
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 64, 2, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	phi, err := rff.Draw(rff.SoftmaxPositive{Scale: 1}, w)
	if err != nil {
		panic(err)
	}
	a, err := performer.NewLinear(phi, performer.LinearOptions{})
	if err != nil {
		panic(err)
	}
	q := dense.Of(1, 2, []float64{0, 0})
	k := dense.Of(3, 2, []float64{1, 0, 0, 1, -1, -1})
	v := dense.Of(3, 1, []float64{0, 0, 1})
	var none dense.Matrix[float64]
	for range 500 {
		out := a.Forward(none, q, k, v)
		// The gradient of ½(out − 1)².
		dout := dense.Of(1, 1, []float64{out.Data[0] - 1})
		dq, _, _ := a.Backward(none, none, none, q, k, v, dout)
		for i, g := range dq.Data {
			q.Data[i] -= g
		}
	}
	fmt.Printf("more than 0.9: %v\n", a.Forward(none, q, k, v).Data[0] > 0.9)
	// Output: more than 0.9: true
}
