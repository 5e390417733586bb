package quantise_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

// benchRows is the number of rows that BenchmarkScan goes through, more with RANDFEAT_ROWS=1000000:
// their bytes then exceed all caches.
func benchRows() int {
	if n, err := strconv.Atoi(os.Getenv("RANDFEAT_ROWS")); err == nil && n > 0 {
		return n
	}
	return 100_000
}

// many returns codes of n rows, of which some thousand are different: the time of a scan does not
// depend on them.
func many(b *testing.B, n, d int, o quantise.Options) *quantise.Codes[float32] {
	const part = 4000
	x := random[float32](min(n, part), d, 1)
	q, err := quantise.New[float32](d, o, rand.NewPCG(1, 2))
	require.NoError(b, err)
	c, err := q.Encode(dense.New[float32](0, d))
	require.NoError(b, err)
	for at := 0; at < n; at += part {
		require.NoError(b, c.Append(x.RowRange(0, min(part, n-at))))
	}
	return c
}

// BenchmarkScan is a search for 10 rows. The size is that of the codes, so that MB/s is the bandwidth.
func BenchmarkScan(b *testing.B) {
	const d = 768
	n := benchRows()
	query := random[float32](1, d, 2).Row(0)
	for _, bits := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("bits=%d/n=%d/d=%d", bits, n, d), func(b *testing.B) {
			c := many(b, n, d, quantise.Options{Bits: bits})
			dst := make([]quantise.Hit, 10)
			b.SetBytes(int64(c.Bytes()))
			b.ReportAllocs()
			for b.Loop() {
				c.Search(dst, query, quantise.InnerProduct)
			}
		})
	}
}

// BenchmarkRead reads as many bytes as the codes of BenchmarkScan have, in a sum of squares on all
// processors: what memory gives.
func BenchmarkRead(b *testing.B) {
	const d = 768
	n := benchRows()
	for _, bits := range []int{1, 4} {
		b.Run(fmt.Sprintf("bits=%d/n=%d/d=%d", bits, n, d), func(b *testing.B) {
			x := make([]float64, n*(d*bits/8+8)/8)
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
	const n, d = 1000, 768
	x := random[float32](n, d, 1)
	for _, o := range lawOptions(1, 2, 4, 8) {
		b.Run(fmt.Sprintf("scheme=%v/bits=%d/n=%d/d=%d", o.Scheme, o.Bits, n, d), func(b *testing.B) {
			q, err := quantise.New[float32](d, o, rand.NewPCG(1, 2))
			require.NoError(b, err)
			b.SetBytes(4 * n * d)
			b.ReportAllocs()
			for b.Loop() {
				_, err := q.Encode(x)
				require.NoError(b, err)
			}
		})
	}
}
