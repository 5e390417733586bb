package scan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// The caches of a decoder: rows of 64 numbers for each of 8 heads, and as many queries a head.
const (
	cacheHeads = 8
	cacheRows  = 1 << 14
	cacheDim   = 64
	cacheChunk = 1 << 10 // rows that float32 products take at a time
)

// BenchmarkCaches times what a step of a decoder does with the keys and the values of its heads,
// which share the processors: products of queries with all rows, and sums of all rows with as many
// sets of weights. Rows are codes with a scale each, or float32 for the products of package matmul;
// read is the sum of squares of as many bytes. MB/s is bytes of rows.
func BenchmarkCaches(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	all := numbers(cacheHeads * cacheRows * cacheDim)
	scales := make([]float32, cacheHeads*cacheRows)
	for _, queries := range []int{1, 4, 8} {
		q, weights := numbers(queries*cacheDim), numbers(queries*cacheRows)
		out := make([]float32, cacheHeads*queries*cacheRows)
		name := func(op string, bits int) string { return fmt.Sprintf("op=%s/bits=%d/queries=%d", op, bits, queries) }
		for _, bits := range []int{8, 4} {
			words := scan.Words(cacheDim, bits)
			rows := make([]uint64, cacheHeads*cacheRows*words)
			for i := range rows {
				rows[i] = r.Uint64()
			}
			for i := range scales {
				scales[i] = r.Float32()
			}
			b.Run(name("products", bits), func(b *testing.B) {
				whole, digits := make([]int16, cacheDim), make([]uint64, cacheHeads*queries*scan.DigitWords(words, bits))
				run(b, 8*len(rows), func(h int) {
					digits := digits[h*queries*scan.DigitWords(words, bits):][:queries*scan.DigitWords(words, bits)]
					for k := range queries {
						scan.Round(whole[:cacheDim:cacheDim], q[k*cacheDim:][:cacheDim], bits)
						scan.Digits(digits[k*scan.DigitWords(words, bits):], whole, words, bits)
					}
					out := out[h*queries*cacheRows:][:queries*cacheRows]
					scan.Products(out, rows[h*cacheRows*words:], digits, cacheRows, words, bits, queries, cacheRows)
					for k := range queries {
						vecmath.Multiply(out[k*cacheRows:][:cacheRows], scales[h*cacheRows:][:cacheRows])
					}
				})
			})
			b.Run(name("sums", bits), func(b *testing.B) {
				places, size := scan.SumPlaces(words, bits), scan.WeightWords(cacheRows)
				sums, rounded := make([]float32, cacheHeads*queries*places), make([]uint64, cacheHeads*queries*size)
				run(b, 8*len(rows), func(h int) {
					rounded, sums := rounded[h*queries*size:][:queries*size], sums[h*queries*places:][:queries*places]
					for k := range queries {
						scan.Weigh(rounded[k*size:], weights[k*cacheRows:][:cacheRows], scales[h*cacheRows:][:cacheRows], bits)
					}
					clear(sums)
					scan.Sums(sums, rows[h*cacheRows*words:], rounded, cacheRows, words, bits, queries, size)
				})
			})
			if queries == 1 {
				b.Run(name("read", bits), func(b *testing.B) {
					part := len(all) * bits / 32 / cacheHeads
					run(b, 8*len(rows), func(h int) { vecmath.Dot(all[h*part:][:part], all[h*part:][:part]) })
				})
			}
		}
		head := func(h int) dense.Matrix[float32] {
			return dense.Of(cacheRows, cacheDim, all[h*cacheRows*cacheDim:][:cacheRows*cacheDim])
		}
		b.Run(name("products", 32), func(b *testing.B) {
			packed := make([]matmul.Packed[float32], cacheHeads)
			run(b, 4*len(all), func(h int) {
				matmul.PackT(&packed[h], dense.Of(queries, cacheDim, q))
				scores := dense.Of(cacheRows, queries, out[h*queries*cacheRows:][:queries*cacheRows])
				for lo := 0; lo < cacheRows; lo += cacheChunk {
					matmul.MulPacked(1, head(h).RowRange(lo, lo+cacheChunk), &packed[h], 0, scores.RowRange(lo, lo+cacheChunk), nil)
				}
			})
		})
		b.Run(name("sums", 32), func(b *testing.B) {
			run(b, 4*len(all), func(h int) {
				sums, w := dense.Of(queries, cacheDim, out[h*queries*cacheDim:][:queries*cacheDim]), dense.Of(cacheRows, queries, weights)
				for lo := 0; lo < cacheRows; lo += cacheChunk {
					matmul.TMul(1, w.RowRange(lo, lo+cacheChunk), head(h).RowRange(lo, lo+cacheChunk), 1, sums)
				}
			})
		})
	}
}

func run(b *testing.B, bytes int, f func(h int)) {
	b.SetBytes(int64(bytes))
	for b.Loop() {
		parallel.Pieces(cacheHeads, f)
	}
}
