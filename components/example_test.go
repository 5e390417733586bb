package components_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/components"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// rings returns n rows on two circles, of radius 1 and 3.
func rings(n int) dense.Matrix[float64] {
	rng := rand.New(rand.NewPCG(1, 2))
	x := dense.New[float64](n, 2)
	for i := range n {
		angle, radius := 2*math.Pi*rng.Float64(), float64(1+2*(i%2))+0.1*rng.NormFloat64()
		x.Set(i, 0, radius*math.Cos(angle))
		x.Set(i, 1, radius*math.Sin(angle))
	}
	return x
}

// No line parts two circles with one centre. The first component of a Gaussian kernel does.
func ExampleFit() {
	x := rings(1000)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 256, 2, rand.NewPCG(3, 4))
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Gaussian(w, 1)
	if err != nil {
		log.Fatal(err)
	}
	m, err := components.Fit(context.Background(), phi, ridge.Block[float64]{X: x}, 2, false)
	if err != nil {
		log.Fatal(err)
	}
	z := m.Transform(dense.Matrix[float64]{}, x)
	// Within a ring the sign is the same for all rows.
	right := 0
	for i := range z.Rows {
		if (z.At(i, 0) > 0) == (z.At(i%2, 0) > 0) {
			right++
		}
	}
	fmt.Printf("%d of %d rows, with a share of %.2f\n", right, z.Rows, m.ExplainedVarianceRatio()[0])
	// Output: 1000 of 1000 rows, with a share of 0.17
}
