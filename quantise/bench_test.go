package quantise_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/quantise"
)

var (
	benchRows = flag.Int("rows", 100_000, "rows of BenchmarkScan and BenchmarkSmall; the codes of 1000000 exceed most caches")
	benchDim  = flag.Int("dim", 384, "dimension of the rows")
)

// benchCodes calls f with codes of New and of Learn, for rows whose variances fall by 1000.
func benchCodes(b *testing.B, f func(name string, c quantise.Codes[float32], query []float32)) {
	x := decaying[float32](8000, *benchDim, 32, 0, 1)
	for _, bits := range []float64{1, 2, 4, 8} {
		for name, q := range map[string]quantise.Quantiser[float32]{"New": newQuantiser[float32](b, x.Cols, quantise.Options{Bits: bits}), "Learn": learned(b, x, bits, 1)} {
			some, c := codesOf(b, q, x), codesOf(b, q, x)
			for c.Len() < *benchRows {
				require.NoError(b, c.AppendRows(some, nil))
			}
			f(fmt.Sprintf("by=%s/bits=%v/n=%d/d=%d", name, bits, c.Len(), x.Cols), c, x.Row(0))
		}
	}
}

// BenchmarkScan is a search for 10 rows by one query and by 64 in one call. The size is that of
// the codes, so that MB/s is the bandwidth.
func BenchmarkScan(b *testing.B) {
	benchCodes(b, func(name string, c quantise.Codes[float32], query []float32) {
		for _, m := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/queries=%d", name, m), func(b *testing.B) {
				hits, prepared := lists(m, 10), make([]*quantise.Query, m)
				for i := range prepared {
					prepared[i] = c.Quantiser().Prepare(nil, query, quantise.InnerProduct, 0)
				}
				b.SetBytes(int64(c.Bytes()))
				b.ReportAllocs()
				for b.Loop() {
					_ = c.SearchAll(b.Context(), hits, prepared, quantise.SearchOptions[float32]{})
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*m), "µs/query")
			})
		}
	})
}

// BenchmarkSmall has the calls of an index: preparing a query, 32 listed rows of all, and 64 rows
// side by side.
func BenchmarkSmall(b *testing.B) {
	benchCodes(b, func(name string, c quantise.Codes[float32], vector []float32) {
		dst, list, side := make([]quantise.Estimate, 64), make([]int, 32), make([]int, 64)
		for i := range side {
			side[i], list[i/2] = 640+i, i*7919%c.Len()
		}
		query := c.Quantiser().Prepare(nil, vector, quantise.SquaredDistance, 0)
		for call, f := range map[string]func(){
			"prepare":   func() { c.Quantiser().Prepare(query, vector, quantise.SquaredDistance, 0) },
			"listed":    func() { c.Estimates(dst[:len(list)], query, list) },
			"partition": func() { c.Estimates(dst, query, side) },
		} {
			b.Run(name+"/"+call, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
			})
		}
	})
}
