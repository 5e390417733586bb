// Command nearest finds the vectors nearest to a query in an index of codes of an eighth the size.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
	"github.com/seed-feabd252/randfeat/quantise/index"
)

const about = `nearest draws 10,000 vectors and finds the three nearest to a query in an index of 4 bits per number.
It has no flags.`

func main() {
	flag.Usage = func() { fmt.Println(about) }
	flag.Parse()

	ctx, src := context.Background(), rand.NewPCG(1, 2)
	ids, vectors, query := vectors(10000, 128, src)

	x := must(index.New[int64](vectors.Cols, index.Options[float32]{Measure: quantise.Cosine, Bits: 4}, src))
	check(x.Add(ctx, ids, vectors))
	for _, hit := range must(x.Search(ctx, query, 3, nil)) {
		fmt.Printf("id %d, cosine %.3f ± %.3f\n", hit.ID, hit.Value, hit.StdErr)
	}
}

// vectors draws n normal vectors, of the ids 1000, 1001, …, and a query near the vector of id 1123.
func vectors(n, d int, src rand.Source) (ids []int64, x dense.Matrix[float32], query []float32) {
	rng := rand.New(src)
	for i := range n {
		ids = append(ids, int64(1000+i))
	}
	x, query = dense.New[float32](n, d), make([]float32, d)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	for j := range query {
		query[j] = x.At(123, j) + float32(rng.NormFloat64())
	}
	return ids, x, query
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(err error) { must(0, err) }
