package quantise_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/quantise"
)

// BenchmarkSmall has the calls of an index: preparing a query, 32 listed rows of all and of rows in the
// cache, a partition of 64 rows, and a search for 10 rows. Bits of 32 are the vectors, by gonum.
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
			q, err := quantise.New[float32](d, quantise.Options{Bits: bits}, rand.NewPCG(1, 2))
			if err != nil {
				b.Fatal(err)
			}
			query := q.Prepare(nil, x.Row(0), quantise.SquaredDistance, 0)
			b.Run(name+"prepare", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					q.Prepare(query, x.Row(0), quantise.SquaredDistance, 0)
				}
			})
			c, err := q.Encode(b.Context(), x)
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]quantise.Estimate, 64)
			for _, from := range []int{n, 1000} {
				lists := make([]int, 1<<16)
				for i := range lists {
					lists[i] = r.IntN(from)
				}
				b.Run(fmt.Sprintf("%slisted/of=%d", name, from), func(b *testing.B) {
					b.ReportAllocs()
					for i := 0; b.Loop(); i += listed {
						c.EstimateRows(dst[:listed], query, lists[i%len(lists):][:listed])
					}
				})
			}
			b.Run(name+"partition", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.Estimates(dst, query, 640)
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
