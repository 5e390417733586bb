package scan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Scores and sums of a cache in pieces are those of the rows that its codes stand for, up to what
// rounding of the query and of the weights may add.
func TestCache(t *testing.T) {
	const n, piece, d = 300, 2 * GroupRows, 80
	r := rand.New(rand.NewPCG(10, 1))
	query, w := make([]float64, d), randomWeights(r, n)
	for i := range query {
		query[i] = r.NormFloat64()
	}
	for _, width := range sumWidths {
		words := Words(d, width)
		rows, scales, decoded, codes := make([]uint64, n*words), make([]float32, n), make([][]float64, n), make([]uint8, d)
		for i := range n {
			x := make([]float64, d)
			for j := range x {
				x[j] = r.NormFloat64()
			}
			scales[i] = 3 / float32(int(1)<<width)
			for j, v := range x {
				codes[j] = uint8(max(0, min(v/float64(2*scales[i])+float64(int(1)<<width/2), float64(int(1)<<width-1))))
			}
			Pack(rows[i*words:][:words], codes, width)
			decoded[i] = make([]float64, d)
			for j, c := range codes {
				decoded[i][j] = float64(scales[i]) * float64(oddOf(c, width))
			}
		}
		whole, digits, weights := make([]int16, d), make([]uint64, DigitWords(words, width)), make([]uint64, WeightWords(piece))
		step := Round(whole, query, width)
		Digits(digits, whole, words, width)
		scores, sums, got := make([]float32, n), make([]float32, SumPlaces(words, width)), make([]float32, d)
		for lo := 0; lo < n; lo += piece {
			hi := min(n, lo+piece)
			Products(scores[lo:hi], rows[lo*words:], digits, hi-lo, words, width, 1, 0)
			Weigh(weights, w[lo:hi], scales[lo:hi], width)
			Sums(sums, rows[lo*words:], weights, hi-lo, words, width, 1, 0)
		}
		Collect(got, sums, words, width)
		want, bound := make([]float64, d), 0.0
		for i, x := range decoded {
			score, size := 0.0, 0.0
			for j, v := range x {
				score += v * query[j]
				size += math.Abs(v)
				want[j] += float64(w[i]) * v
			}
			require.InDelta(t, score, step*float64(scales[i]*scores[i]), 0.51*step*size, "width = %d, row %d", width, i)
			bound = max(bound, math.Abs(float64(w[i]*scales[i])))
		}
		bound *= 0.51 / Largest * n * float64(int(1)<<width)
		for j := range want {
			require.InDelta(t, want[j], float64(got[j]), bound, "width = %d, element %d", width, j)
		}
	}
}
