package quantise_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

// BenchmarkSmall has the calls of an index: preparing a query, 32 listed rows of 100,000 and of rows
// in the cache, and a partition of 64 rows.
func BenchmarkSmall(b *testing.B) {
	const n, listed = 100_000, 32
	r := rand.New(rand.NewPCG(1, 1))
	for _, d := range []int{128, 768} {
		x := dense.New[float32](n, d)
		for i := range x.Data {
			x.Data[i] = float32(r.NormFloat64())
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
		}
	}
}
