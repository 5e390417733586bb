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
	codes   map[int]quantise.Codes[float32]
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
	c := &collection{codes: make(map[int]quantise.Codes[float32]), queries: clustered(benchQueries, centres, rng)}
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
				for _, hit := range search(c, dst, all.queries.Row(i), quantise.InnerProduct) {
					if slices.ContainsFunc(all.nearest[i], func(h quantise.Hit) bool { return h.ID == hit.ID }) {
						recall += 1.0 / (benchQueries * benchFound)
					}
				}
			}
			b.SetBytes(int64(c.Bytes()))
			b.ReportAllocs()
			for b.Loop() {
				search(c, dst, all.queries.Row(query%benchQueries), quantise.InnerProduct)
				query++
			}
			b.ReportMetric(recall, "recall@10")
		})
	}
}

// BenchmarkFilter is a search for 10 rows among all, among every second one, and among a hundredth
// of them side by side.
func BenchmarkFilter(b *testing.B) {
	for _, bits := range []int{1, 2, 4, 8} {
		for _, kept := range []string{"all", "half", "hundredth"} {
			b.Run(fmt.Sprintf("bits=%d/kept=%s/n=%d/d=%d", bits, kept, *benchRows, benchDim), func(b *testing.B) {
				all := bench()
				only := make(quantise.Bitmap, (*benchRows+63)/64)
				var o quantise.SearchOptions[float32]
				for id := range *benchRows {
					only.Set(id, kept == "half" && id%2 == 0 || kept == "hundredth" && id < *benchRows/100)
				}
				if kept != "all" {
					o.Only = []quantise.Set{only}
				}
				hits, query := lists(1, benchFound), 0
				b.ReportAllocs()
				for b.Loop() {
					_ = searchAll(all.codes[bits].Quantiser(), b.Context(), hits, all.queries.RowRange(query%benchQueries, query%benchQueries+1), quantise.InnerProduct, o, all.codes[bits])
					query++
				}
			})
		}
	}
}

// BenchmarkBatch is a search for 10 rows with one query and with many in one pass.
func BenchmarkBatch(b *testing.B) {
	const n, d, most = 200_000, 256, 64
	x, queries := random[float32](n, d, 1), random[float32](most, d, 2)
	for _, bits := range []int{1, 2, 4, 8} {
		q, _ := quantise.New[float32](d, quantise.Options{Bits: bits}, rand.NewPCG(1, 2))
		c, err := q.Encode(b.Context(), x)
		require.NoError(b, err)
		for _, m := range []int{1, most} {
			b.Run(fmt.Sprintf("bits=%d/queries=%d/n=%d/d=%d", bits, m, n, d), func(b *testing.B) {
				hits := lists(m, benchFound)
				b.ReportAllocs()
				for b.Loop() {
					_ = searchAll(c.Quantiser(), b.Context(), hits, queries.RowRange(0, m), quantise.InnerProduct, quantise.SearchOptions[float32]{}, c)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*m), "µs/query")
			})
		}
	}
}

// BenchmarkRerank is a search for 10 exact rows, with the number of rows that it looks at and the
// share of the true 10 that it finds.
func BenchmarkRerank(b *testing.B) {
	const n, d, m, k = 100_000, 256, 20, 10
	for _, clusters := range []int{0, 500} {
		rng := rand.New(rand.NewPCG(1, 1))
		x, queries, centres := dense.New[float32](n, d), dense.New[float32](m, d), dense.New[float32](max(clusters, 1), d)
		for i := range centres.Data[:clusters*d] {
			centres.Data[i] = float32(rng.NormFloat64())
		}
		for _, rows := range []dense.Matrix[float32]{x, queries} {
			for i := range rows.Rows {
				row, centre := rows.Row(i), centres.Row(rng.IntN(centres.Rows))
				for j := range row {
					row[j] = centre[j] + float32(rng.NormFloat64())
				}
			}
		}
		var nearest [m][]quantise.Hit
		for i, row := range kernels.Gram(dense.Matrix[float32]{}, kernels.DotProduct{}, queries, x).Data {
			nearest[i/n] = insert(nearest[i/n], i%n, float64(row))
		}
		for _, bits := range []int{1, 2, 4, 8} {
			q, _ := quantise.New[float32](d, quantise.Options{Bits: bits}, rand.NewPCG(1, 2))
			c, err := q.Encode(b.Context(), x)
			require.NoError(b, err)
			b.Run(fmt.Sprintf("bits=%d/clusters=%d/n=%d/d=%d", bits, clusters, n, d), func(b *testing.B) {
				read, looked, recall, query := quantise.RowsOf(x), 0, 0.0, 0
				o := quantise.SearchOptions[float32]{Rows: func(dst dense.Matrix[float32], segment int, ids []int) error {
					looked += len(ids)
					return read(dst, segment, ids)
				}}
				hits := lists(m, k)
				require.NoError(b, searchAll(c.Quantiser(), b.Context(), hits, queries, quantise.InnerProduct, o, c))
				for i := range hits {
					for _, hit := range hits[i] {
						if slices.ContainsFunc(nearest[i], func(h quantise.Hit) bool { return h.ID == hit.ID }) {
							recall += 1.0 / (m * k)
						}
					}
				}
				perQuery, one := float64(looked)/m, lists(1, k)
				b.ReportAllocs()
				for b.Loop() {
					_ = searchAll(c.Quantiser(), b.Context(), one, queries.RowRange(query%m, query%m+1), quantise.InnerProduct, o, c)
					query++
				}
				b.ReportMetric(perQuery, "rows/query")
				b.ReportMetric(recall, "recall@10")
			})
		}
	}
}

// BenchmarkHits is a search for 10 to 1000 rows.
func BenchmarkHits(b *testing.B) {
	const n, d = 200_000, 128
	x, queries := random[float32](n, d, 1), random[float32](benchQueries, d, 2)
	for _, bits := range []int{1, 4} {
		q, _ := quantise.New[float32](d, quantise.Options{Bits: bits}, rand.NewPCG(1, 2))
		c, err := q.Encode(b.Context(), x)
		require.NoError(b, err)
		for _, k := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("bits=%d/k=%d/n=%d/d=%d", bits, k, n, d), func(b *testing.B) {
				dst, query := make([]quantise.Hit, k), 0
				b.ReportAllocs()
				for b.Loop() {
					search(c, dst, queries.Row(query%benchQueries), quantise.InnerProduct)
					query++
				}
			})
		}
	}
}

// BenchmarkStages is a search for 10 of 100,000 rows in one stage and in two, with 500 clusters and
// with none.
func BenchmarkStages(b *testing.B) {
	const n, d, k = 100_000, 768, 10
	for _, clusters := range []int{500, 1} {
		x := mixture(n, d, clusters, rand.New(rand.NewPCG(1, 2)))
		for _, bits := range []int{4, 8} {
			with, without := staged(b, x, bits)
			for i, c := range []quantise.Codes[float32]{without, with} {
				b.Run(fmt.Sprintf("bits=%d/clusters=%d/stages=%d", bits, clusters, i+1), func(b *testing.B) {
					dst, row := make([]quantise.Hit, k), 0
					for b.Loop() {
						search(c, dst, x.Row(n-1-row%benchQueries), quantise.InnerProduct)
						row++
					}
				})
			}
		}
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
