package quantise_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/kmeans"
	"github.com/seed-feabd252/randfeat/quantise"
)

// centredData is rows in 500 clusters with centres that k-means found, queries, and the true
// products.
type centredData struct {
	x, centres, queries, products dense.Matrix[float32]
}

const centredDim = 256

var centredRows = sync.OnceValue(func() centredData {
	rng := rand.New(rand.NewPCG(5, 1))
	truth := dense.New[float32](500, centredDim)
	for i := range truth.Data {
		truth.Data[i] = float32(rng.NormFloat64())
	}
	draw := func(n int) dense.Matrix[float32] {
		x := dense.New[float32](n, centredDim)
		for i := range n {
			centre := truth.Row(rng.IntN(truth.Rows))
			for j := range centre {
				x.Set(i, j, centre[j]+float32(rng.NormFloat64()))
			}
		}
		return x
	}
	d := centredData{x: draw(*benchRows), queries: draw(benchQueries)}
	found, err := kmeans.Cluster(context.Background(), d.x, 500, 10, kmeans.Options[float32]{Sample: min(30_000, d.x.Rows)}, rng)
	if err != nil {
		panic(err)
	}
	d.centres = found.Centres
	d.products = kernels.Gram(dense.Matrix[float32]{}, kernels.DotProduct{}, d.queries, d.x)
	return d
})

// BenchmarkCentres is a search for the 10 largest inner products without centres, with 500 of
// k-means, and of the rows of 10 of these, with the share of the true 10 that it finds and the root
// mean square of the errors of cosines, over all rows and over the 100 nearest.
func BenchmarkCentres(b *testing.B) {
	for _, bits := range []int{1, 2, 4, 8} {
		for _, looked := range []int{-1, 0, 10} {
			b.Run(fmt.Sprintf("bits=%d/centres=%s", bits, map[int]string{-1: "none", 0: "all", 10: "nearest10"}[looked]), func(b *testing.B) {
				data := centredRows()
				q := newQuantiser[float32](b, centredDim, quantise.Options{Bits: bits})
				if looked >= 0 {
					q = around(b, quantise.Options{Bits: bits}, data.centres)
				}
				c := codesOf(b, q, data.x)
				o := quantise.SearchOptions[float32]{Centres: max(looked, 0)}
				hits := [][]quantise.Hit{make([]quantise.Hit, benchFound)}
				recall, square, nearSquare := 0.0, 0.0, 0.0
				for i := range benchQueries {
					query := data.queries.RowRange(i, i+1)
					require.NoError(b, searchAll(c, b.Context(), hits, query, quantise.InnerProduct, 0, o))
					var best []quantise.Hit
					exact := data.products.Row(i)
					for j, v := range exact {
						best = insert(best, j, float64(v))
					}
					for _, hit := range hits[0] {
						if slices.ContainsFunc(best, func(h quantise.Hit) bool { return h.ID == hit.ID }) {
							recall += 1.0 / (benchQueries * benchFound)
						}
					}
					sorted := slices.Sorted(slices.Values(exact))
					near := sorted[len(sorted)-100]
					for j, v := range estimates(c, nil, query.Row(0), quantise.InnerProduct) {
						// Norms of rows and queries are √512.
						e := math.Pow((v-float64(exact[j]))/(2*centredDim), 2)
						square += e / float64(benchQueries*len(exact))
						if exact[j] >= near {
							nearSquare += e / (benchQueries * 100)
						}
					}
				}
				query := 0
				b.ReportAllocs()
				for b.Loop() {
					at := query % benchQueries
					_ = searchAll(c, b.Context(), hits, data.queries.RowRange(at, at+1), quantise.InnerProduct, 0, o)
					query++
				}
				b.ReportMetric(recall, "recall@10")
				b.ReportMetric(math.Sqrt(square), "error")
				b.ReportMetric(math.Sqrt(nearSquare), "error@100")
			})
		}
	}
}
