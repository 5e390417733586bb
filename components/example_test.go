package components_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

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
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
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

// directions returns n rows of R⁶ and a function of two directions, with noise of 0.1.
func directions(n int, seed uint64) (x, y dense.Matrix[float64]) {
	rng := rand.New(rand.NewPCG(seed, 2))
	x, y = dense.New[float64](n, 6), dense.New[float64](n, 1)
	for i := range n {
		r := x.Row(i)
		for j := range r {
			r[j] = rng.NormFloat64()
		}
		y.Set(i, 0, math.Sin(r[0]+r[1]-r[2])+0.3*(r[3]-r[4])*(r[0]+r[5])+0.1*rng.NormFloat64())
	}
	return x, y
}

// The function varies in some directions only. A metric from gradients finds them.
func ExampleMetric() {
	ctx := context.Background()
	x, y := directions(1000, 1)
	z, target := directions(1000, 2)
	rows := ridge.Block[float64]{X: x, Y: y}
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 256, 6, rand.NewPCG(3, 4))
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 2}, w)
	if err != nil {
		log.Fatal(err)
	}
	current := phi
	for range 3 {
		model, err := ridge.Fit(ctx, current, ridge.Block[float64]{X: x, Y: y}, ridge.Options{})
		if err != nil {
			log.Fatal(err)
		}
		errs := model.Mean(dense.Matrix[float64]{}, z)
		floats.Sub(errs.Data, target.Data)
		fmt.Printf("error %.2f\n", floats.Norm(errs.Data, 2)/math.Sqrt(1000))
		weights, _ := model.Weights()
		gradients, err := rff.Gradients(model.Map(), weights)
		if err != nil {
			log.Fatal(err)
		}
		sums, err := ridge.Sum(ctx, gradients, rows)
		if err != nil {
			log.Fatal(err)
		}
		l, err := components.Metric(ctx, sums)
		if err != nil {
			log.Fatal(err)
		}
		if current, err = rff.Compose(rff.Affine{A: l}, phi); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// error 0.28
	// error 0.14
	// error 0.13
}
