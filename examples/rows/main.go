// Command rows fits rows of numbers and predicts new ones with bands.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

const about = `rows fits 150 made-up rows of three numbers and predicts three more, with bands of 90 %.
It has no flags.`

func main() {
	flag.Usage = func() { fmt.Println(about) }
	flag.Parse()

	ctx, src := context.Background(), rand.NewPCG(1, 2)
	x, y := rows(150, src)
	z, measured := rows(3, src)

	found := must(automl.Fit(ctx, ridge.Block[float64]{X: x, Y: y}, automl.Options{}, src)) // x is n×d, y is n×1
	fmt.Print(found.Report)                                                                 // what was tried, and errors at held-out rows
	q := found.Model.Quantiles(z, 0.05, 0.5, 0.95)                                          // 90 % of new targets are in q[0] to q[2]

	for i := range z.Rows {
		fmt.Printf("%.2f, from %.2f to %.2f, measured %.2f\n", q[1].At(i, 0), q[0].At(i, 0), q[2].At(i, 0), measured.At(i, 0))
	}
}

// rows draws points of the unit cube and noisy values.
func rows(n int, src rand.Source) (x, y dense.Matrix[float64]) {
	rng := rand.New(src)
	x, y = dense.New[float64](n, 3), dense.New[float64](n, 1)
	for i := range n {
		p := x.Row(i)
		for j := range p {
			p[j] = rng.Float64()
		}
		y.Set(i, 0, math.Sin(5*p[0])+p[1]*p[2]+0.1*rng.NormFloat64())
	}
	return x, y
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
