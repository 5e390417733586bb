package quantise_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/quantise"
)

var benchRows = flag.Int("rows", 100_000, "rows of BenchmarkScan and BenchmarkRead; the codes of 1000000 exceed most caches")

const (
	benchDim     = 768
	benchQueries = 20
	benchFound   = 10
	benchPart    = 4000 // rows made at a time
)

// collection is rows in clusters, as codes of 1, 2, 4 and 8 bits, with queries of the same law and
// the rows that are nearest to them. The rows themselves are not kept.
type collection struct {
	codes   map[int]*quantise.Codes[float32]
	queries dense.Matrix[float32]
	nearest [benchQueries][]quantise.Hit
}

// clustered returns rows of noise about one of 500 centres that is as long as the noise.
func clustered(n int, centres dense.Matrix[float32], rng *rand.Rand) dense.Matrix[float32] {
	x := dense.New[float32](n, benchDim)
	for i := range n {
		row, centre := x.Row(i), centres.Row(rng.IntN(centres.Rows))
		var word uint64
		for j := range row {
			if j%8 == 0 {
				word = rng.Uint64()
			}
			row[j] = centre[j] + float32(int8(word)) // all sizes are equally frequent
			word >>= 8
		}
	}
	return x
}

var bench = sync.OnceValue(func() *collection {
	rng := rand.New(rand.NewPCG(1, 1))
	centres := clustered(500, dense.New[float32](1, benchDim), rng)
	c := &collection{codes: make(map[int]*quantise.Codes[float32]), queries: clustered(benchQueries, centres, rng)}
	for at := 0; at < *benchRows; at += benchPart {
		x := clustered(min(benchPart, *benchRows-at), centres, rng)
		for _, bits := range []int{1, 2, 4, 8} {
			var err error
			if c.codes[bits] == nil {
				q, _ := quantise.New[float32](benchDim, quantise.Options{Bits: bits}, rand.NewPCG(1, 2))
				c.codes[bits], err = q.Encode(context.Background(), x)
			} else {
				err = c.codes[bits].Append(context.Background(), x)
			}
			if err != nil {
				panic(err)
			}
		}
		products := kernels.Gram(dense.Matrix[float32]{}, kernels.DotProduct{}, c.queries, x)
		for i := range c.nearest {
			for j, v := range products.Row(i) {
				c.nearest[i] = insert(c.nearest[i], at+j, float64(v))
			}
		}
	}
	return c
})

// insert keeps the largest values, the largest first.
func insert(best []quantise.Hit, id int, value float64) []quantise.Hit {
	if len(best) == benchFound && value <= best[benchFound-1].Value {
		return best
	}
	at := sort.Search(len(best), func(i int) bool { return best[i].Value < value })
	best = slices.Insert(best, at, quantise.Hit{ID: id, Estimate: quantise.Estimate{Value: value}})
	return best[:min(len(best), benchFound)]
}

// BenchmarkScan is a search for 10 rows, with the share of the true 10 that it finds. The size is
// that of the codes, so that MB/s is the bandwidth.
func BenchmarkScan(b *testing.B) {
	for _, bits := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("bits=%d/n=%d/d=%d", bits, *benchRows, benchDim), func(b *testing.B) {
			all := bench()
			c, dst, query := all.codes[bits], make([]quantise.Hit, benchFound), 0
			recall := 0.0
			for i := range benchQueries {
				for _, hit := range c.Search(dst, all.queries.Row(i), quantise.InnerProduct) {
					if slices.ContainsFunc(all.nearest[i], func(h quantise.Hit) bool { return h.ID == hit.ID }) {
						recall += 1.0 / (benchQueries * benchFound)
					}
				}
			}
			b.SetBytes(int64(c.Bytes()))
			b.ReportAllocs()
			for b.Loop() {
				c.Search(dst, all.queries.Row(query%benchQueries), quantise.InnerProduct)
				query++
			}
			b.ReportMetric(recall, "recall@10")
		})
	}
}

// BenchmarkRead reads as many bytes as codes of 1 bit and rows of float32 take, in a sum of squares
// on all processors: what memory gives.
func BenchmarkRead(b *testing.B) {
	for _, bits := range []int{1, 32} {
		b.Run(fmt.Sprintf("bits=%d/n=%d/d=%d", bits, *benchRows, benchDim), func(b *testing.B) {
			x := make([]float64, *benchRows*benchDim*bits/64)
			for i := range x {
				x[i] = float64(i)
			}
			b.SetBytes(int64(8 * len(x)))
			for b.Loop() {
				quantise.SumOfSquares(x)
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	const n = 1000
	x := random[float32](n, benchDim, 1)
	for _, o := range lawOptions(1, 2, 4, 8) {
		b.Run(fmt.Sprintf("scheme=%v/bits=%d/n=%d/d=%d", o.Scheme, o.Bits, n, benchDim), func(b *testing.B) {
			q, err := quantise.New[float32](benchDim, o, rand.NewPCG(1, 2))
			require.NoError(b, err)
			b.SetBytes(4 * n * benchDim)
			b.ReportAllocs()
			for b.Loop() {
				_, err := q.Encode(b.Context(), x)
				require.NoError(b, err)
			}
		})
	}
}
