package scan

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkProducts goes through rows that stay in the second cache, for one query and for several.
func BenchmarkProducts(b *testing.B) {
	const count = 1024
	for _, width := range productWidths {
		for _, d := range []int{64, 768} {
			for _, queries := range []int{1, 2, 4, 8} {
				b.Run(fmt.Sprintf("bits=%d/d=%d/queries=%d", width, d, queries), func(b *testing.B) {
					words := Words(d, width)
					rows, dst := randomRows(count*words), make([]float32, queries*count)
					digits := make([]uint64, queries*DigitWords(words, width))
					b.SetBytes(int64(8 * len(rows)))
					for b.Loop() {
						Products(dst, rows, digits, count, words, width, queries, count)
					}
				})
			}
		}
	}
}

func randomRows(n int) []uint64 {
	r := rand.New(rand.NewPCG(1, 1))
	rows := make([]uint64, n)
	for i := range rows {
		rows[i] = r.Uint64()
	}
	return rows
}

// BenchmarkSums is the weighted sum of rows, for one set of weights and for several, with the
// weights rounded in it.
func BenchmarkSums(b *testing.B) {
	const count = 1024
	for _, width := range sumWidths {
		for _, d := range []int{64, 768} {
			for _, sets := range []int{1, 2, 4, 8} {
				b.Run(fmt.Sprintf("bits=%d/d=%d/sets=%d", width, d, sets), func(b *testing.B) {
					words := Words(d, width)
					rows, w := randomRows(count*words), make([]float32, count)
					for i := range w {
						w[i] = 1 / float32(i+1)
					}
					sums, weights := make([]float32, sets*SumPlaces(words, width)), make([]uint64, sets*WeightWords(count))
					b.SetBytes(int64(8 * len(rows)))
					for b.Loop() {
						for k := range sets {
							Weigh(weights[k*WeightWords(count):], w, w, width)
						}
						Sums(sums, rows, weights, count, words, width, sets, WeightWords(count))
					}
				})
			}
		}
	}
}
