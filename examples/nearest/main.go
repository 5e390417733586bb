// Command nearest finds the vectors nearest to a query from codes of an eighth of their size.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

const about = `nearest draws 10,000 vectors and finds the three nearest to a query from codes of 4 bits per coordinate.
It has no flags.`

func main() {
	flag.Usage = func() { fmt.Println(about) }
	flag.Parse()

	ctx, src := context.Background(), rand.NewPCG(1, 2)
	vectors, query := vectors(10000, 256, src)

	q := must(quantise.New[float32](vectors.Cols, quantise.Options{Bits: 4}, src))
	codes := must(q.Encode(ctx, vectors)) // n×d in, 4 bits per number out
	for _, hit := range codes.Search(make([]quantise.Hit, 3), q.Prepare(nil, query, quantise.Cosine, 0)) {
		fmt.Printf("row %d, cosine %.3f ± %.3f\n", hit.ID, hit.Value, hit.StdErr)
	}
}

// vectors draws n normal vectors, and a query near vector 123.
func vectors(n, d int, src rand.Source) (x dense.Matrix[float32], query []float32) {
	rng := rand.New(src)
	x, query = dense.New[float32](n, d), make([]float32, d)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	for j := range query {
		query[j] = x.At(123, j) + float32(rng.NormFloat64())
	}
	return x, query
}

// must returns v, or ends the program.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
