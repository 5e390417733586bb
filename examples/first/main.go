// Command first computes attention to a tolerance, in a fraction of the time of exact attention.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
)

const about = `first finds attention of 8192 made-up tokens within 5 % of exact attention, and prints how far off it is.
It has no flags.`

func main() {
	flag.Usage = func() { fmt.Println(about) }
	flag.Parse()

	ctx, src := context.Background(), rand.NewPCG(1, 2)
	q, k, v := tokens(8192, 8, src)

	exact := performer.Softmax{} // softmax(QKᵀ/√d)·V
	found := must(audit.Choose(ctx, exact, q, k, v, 0.05, audit.ChooseOptions{Calls: 100, Budget: 5, Reproducible: true}, src))
	out := found.Attention.Forward(dense.Matrix[float64]{}, q, k, v)
	fmt.Printf("attention of %d tokens by %s\n", out.Rows, found.Name)
	fmt.Println(found.Report) // the measured error
}

// Queries and keys are like their neighbours. The values are the keys.
func tokens(length, d int, src rand.Source) (q, k, v dense.Matrix[float64]) {
	rng := rand.New(src)
	q, k = dense.New[float64](length, d), dense.New[float64](length, d)
	for i := range q.Data {
		q.Data[i], k.Data[i] = 2*rng.NormFloat64(), 2*rng.NormFloat64()
	}
	for i := 1; i < length; i++ {
		for j := range d {
			q.Row(i)[j] = 0.995*q.At(i-1, j) + 0.1*q.At(i, j)
			k.Row(i)[j] = 0.995*k.At(i-1, j) + 0.1*k.At(i, j)
		}
	}
	return q, k, k
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
