package quantise_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/kmeans"
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
				q, _ := quantise.New[float32](benchDim, quantise.Options{Bits: float64(bits)}, rand.NewPCG(1, 2))
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

// BenchmarkLearned is a search for 10 rows with the bits of Learn, and with those of New at equal
// bytes, for rows whose variances fall by 1000.
func BenchmarkLearned(b *testing.B) {
	const n, d = 8000, 384
	x := decaying[float32](n, d, 32, 0, 1)
	for _, bits := range []float64{1, 2, 4} {
		for name, q := range map[string]quantise.Quantiser[float32]{"New": newQuantiser[float32](b, d, quantise.Options{Bits: bits}), "Learn": learned(b, x, bits, 1)} {
			some, c := codesOf(b, q, x), codesOf(b, q, x)
			for c.Len() < *benchRows {
				require.NoError(b, c.AppendRows(some, nil))
			}
			b.Run(fmt.Sprintf("bits=%v/by=%s/n=%d/d=%d", bits, name, c.Len(), d), func(b *testing.B) {
				dst := make([]quantise.Hit, benchFound)
				b.SetBytes(int64(c.Bytes()))
				for b.Loop() {
					search(c, dst, x.Row(0), quantise.InnerProduct)
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
		c := encode(b, x, quantise.Options{Bits: float64(bits)})
		for _, m := range []int{1, most} {
			b.Run(fmt.Sprintf("bits=%d/queries=%d/n=%d/d=%d", bits, m, n, d), func(b *testing.B) {
				hits := lists(m, benchFound)
				b.ReportAllocs()
				for b.Loop() {
					_ = searchAll(c, b.Context(), hits, queries.RowRange(0, m), quantise.InnerProduct, 0, quantise.SearchOptions[float32]{})
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
			c := encode(b, x, quantise.Options{Bits: float64(bits)})
			b.Run(fmt.Sprintf("bits=%d/clusters=%d/n=%d/d=%d", bits, clusters, n, d), func(b *testing.B) {
				read, looked, recall, query := quantise.RowsOf(x), 0, 0.0, 0
				o := quantise.SearchOptions[float32]{Rows: func(dst dense.Matrix[float32], ids []int) error {
					looked += len(ids)
					return read(dst, ids)
				}}
				hits := lists(m, k)
				require.NoError(b, searchAll(c, b.Context(), hits, queries, quantise.InnerProduct, 0, o))
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
					_ = searchAll(c, b.Context(), one, queries.RowRange(query%m, query%m+1), quantise.InnerProduct, 0, o)
					query++
				}
				b.ReportMetric(perQuery, "rows/query")
				b.ReportMetric(recall, "recall@10")
			})
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

// BenchmarkSmall has the calls of an index: preparing a query, 32 listed rows of all and of rows in
// the cache, a partition of 64 rows, and a search for 10 rows. Bits of 32 are the vectors, by
// gonum.
func BenchmarkSmall(b *testing.B) {
	const listed = 32
	r := rand.New(rand.NewPCG(1, 1))
	vector := func(v []float32) blas32.Vector { return blas32.Vector{N: len(v), Data: v, Inc: 1} }
	for d, n := range map[int]int{128: 200_000, 768: 100_000} {
		x := dense.New[float32](n, d)
		for i := range x.Data {
			x.Data[i] = float32(r.NormFloat64())
		}
		lists := make([]int, 1<<16)
		for i := range lists {
			lists[i] = r.IntN(n)
		}
		products := make([]float32, n)
		b.Run(fmt.Sprintf("d=%d/bits=32/listed/of=%d", d, n), func(b *testing.B) {
			for i := 0; b.Loop(); i += listed {
				for j, id := range lists[i%len(lists):][:listed] {
					products[j] = blas32.Dot(vector(x.Row(0)), vector(x.Row(id)))
				}
			}
		})
		for name, rows := range map[string]dense.Matrix[float32]{"partition": x.RowRange(640, 704), "search": x} {
			b.Run(fmt.Sprintf("d=%d/bits=32/%s", d, name), func(b *testing.B) {
				for b.Loop() {
					blas32.Gemv(blas.NoTrans, 1, gonum.ToBLAS32(rows), vector(x.Row(0)), 0, vector(products[:rows.Rows]))
				}
			})
		}
		for _, bits := range []int{1, 2, 4, 8} {
			name := fmt.Sprintf("d=%d/bits=%d/", d, bits)
			q := newQuantiser[float32](b, d, quantise.Options{Bits: float64(bits)})
			query := q.Prepare(nil, x.Row(0), quantise.SquaredDistance, 0)
			b.Run(name+"prepare", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					q.Prepare(query, x.Row(0), quantise.SquaredDistance, 0)
				}
			})
			c := codesOf(b, q, x)
			dst := make([]quantise.Estimate, 64)
			for _, from := range []int{n, 1000} {
				lists := make([]int, 1<<16)
				for i := range lists {
					lists[i] = r.IntN(from)
				}
				b.Run(fmt.Sprintf("%slisted/of=%d", name, from), func(b *testing.B) {
					b.ReportAllocs()
					for i := 0; b.Loop(); i += listed {
						c.Estimates(dst[:listed], query, lists[i%len(lists):][:listed])
					}
				})
			}
			side := make([]int, len(dst))
			for i := range side {
				side[i] = 640 + i
			}
			b.Run(name+"partition", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.Estimates(dst, query, side)
				}
			})
			hits := make([]quantise.Hit, 10)
			b.Run(name+"search", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.Search(hits, query)
				}
			})
		}
	}
}

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
				q := newQuantiser[float32](b, centredDim, quantise.Options{Bits: float64(bits)})
				if looked >= 0 {
					q = around(b, quantise.Options{Bits: float64(bits)}, data.centres)
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
