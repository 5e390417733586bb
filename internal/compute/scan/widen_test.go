package scan

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Widen undoes Narrow, writes nothing behind its words, and products and sums of its rows are those
// of codes of 5 and 6 bits, on all tiers.
func TestWiden(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 1))
		for _, width := range []int{5, 6} {
			for elements := 1; elements < 200; elements++ {
				n, wide, words := 1+r.IntN(7), Words(elements, 8), Words(elements, width)
				require.LessOrEqual(t, float64(words), float64(wide*width)/8+3)
				codes := several(n, func() []uint8 { return randomCodes(r, elements, width) })
				want, rows := packed(codes, elements, 8), make([]uint64, n*words)
				for i := range n {
					Narrow(rows[i*words:][:words], want[i*wide:][:wide], width)
				}
				got := make([]uint64, WideWords(n, wide)+1)
				got[len(got)-1] = 7
				Widen(got[:len(got)-1:len(got)-1], rows, n, wide, width)
				require.Equal(t, want, got[:n*wide], "%d bits, %d elements", width, elements)
				require.EqualValues(t, 7, got[len(got)-1])
				whole, digits, dst := randomWhole(r, elements, width), make([]uint64, DigitWords(wide, width)), make([]float32, n)
				Digits(digits, whole, wide, width)
				Products(dst, got, digits, n, wide, 8, 1, n)
				w, scales := randomWeights(r, n), randomWeights(r, n)
				weights, sums, sum := make([]uint64, WeightWords(n)), make([]float32, SumPlaces(wide, 8)), make([]float32, elements)
				Weigh(weights, w, scales, width)
				Sums(sums, got, weights, n, wide, 8, 1, 0)
				Collect(sum, sums, wide, 8)
				for i, c := range codes {
					require.Equal(t, productOf(t, c, whole, width), dst[i], "%d bits, %d elements", width, elements)
				}
				require.Equal(t, sumOf(codes, w, scales, elements, width), sum, "%d bits, %d elements", width, elements)
			}
		}
	})
}
