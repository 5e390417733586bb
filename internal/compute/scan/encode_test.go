package scan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testEncode[T float32 | float64](t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for _, width := range productWidths {
		for _, n := range []int{1, 2, 63, 64, 65, 80, 128, 300} {
			for _, size := range []float64{1, 1e-30, 1e30} {
				x, row, codes := make([]T, n), make([]uint64, Words(n, width)), make([]uint8, n)
				for i := range x {
					x[i] = T(size * r.NormFloat64())
				}
				peak := 0.0
				for _, v := range x {
					peak = max(peak, math.Abs(float64(v)))
				}
				row[0] = math.MaxUint64
				scale := float64(Encode(row, x, width))
				require.InEpsilon(t, peak/float64(int(1)<<width), scale, 0x1p-23)
				Unpack(codes, row, width)
				for i, c := range codes {
					require.InDelta(t, float64(x[i]), scale*float64(oddOf(c, width)), scale*(1+0x1p-15), "width = %d, n = %d", width, n)
				}
			}
		}
		for _, size := range []float64{1e-38, 1e-40, 1e-42} { // scales below the normal numbers
			x, row, codes := make([]T, 64), make([]uint64, Words(64, width)), make([]uint8, 64)
			for i := range x {
				x[i] = T(size * (2*r.Float64() - 1))
			}
			x[0] = T(size)
			scale := float64(Encode(row, x, width))
			require.InDelta(t, size/float64(int(1)<<width), scale, math.SmallestNonzeroFloat32)
			Unpack(codes, row, width)
			for i, c := range codes {
				require.InDelta(t, float64(x[i]), scale*float64(oddOf(c, width)), scale*(1+0x1p-15), "width = %d, size = %g", width, size)
			}
		}
		row := make([]uint64, Words(3, width))
		assert.Zero(t, Encode(row, make([]T, 3), width))
		assert.Zero(t, Encode(row, []T{T(math.Copysign(0, -1)), 0, 0}, width))
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			scale := Encode(row, []T{1, T(bad), 2}, width)
			assert.True(t, scale != scale, "%v of %v", scale, bad)
		}
		assert.Zero(t, testing.AllocsPerRun(5, func() { Encode(row, []T{1, 2, 3}, width) }))
	}
}

func TestEncode(t *testing.T) {
	t.Run("type=float32", testEncode[float32])
	t.Run("type=float64", testEncode[float64])
}

// Scores and sums of a cache in pieces are those of the rows that its codes stand for, up to what
// rounding of the query and of the weights may add.
func TestCache(t *testing.T) {
	const n, piece, d = 300, 2 * GroupRows, 80
	r := rand.New(rand.NewPCG(10, 1))
	query, w := make([]float64, d), randomWeights(r, n)
	for i := range query {
		query[i] = r.NormFloat64()
	}
	for _, width := range productWidths {
		words := Words(d, width)
		rows, scales, decoded, codes := make([]uint64, n*words), make([]float32, n), make([][]float64, n), make([]uint8, d)
		for i := range n {
			x := make([]float64, d)
			for j := range x {
				x[j] = r.NormFloat64()
			}
			scales[i] = Encode(rows[i*words:][:words], x, width)
			Unpack(codes, rows[i*words:][:words], width)
			decoded[i] = make([]float64, d)
			for j, c := range codes {
				decoded[i][j] = float64(scales[i]) * float64(oddOf(c, width))
			}
		}
		whole, digits, weights := make([]int16, d), make([]uint64, DigitWords(words, width)), make([]uint64, WeightWords(piece))
		step := Round(whole, query)
		Digits(digits, whole, words, width)
		scores, sums, got := make([]float32, n), make([]float32, SumPlaces(words, width)), make([]float32, d)
		for lo := 0; lo < n; lo += piece {
			hi := min(n, lo+piece)
			Products(scores[lo:hi], rows[lo*words:], digits, hi-lo, words, width, 1, 0)
			Weigh(weights, w[lo:hi], scales[lo:hi], width)
			Sums(sums, rows[lo*words:], weights, hi-lo, words, width, 1)
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
