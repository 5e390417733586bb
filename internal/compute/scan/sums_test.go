package scan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sumWidths = []int{4, 8}

// sumOf returns the weighted sums by their definition, a group of rows after the other.
func sumOf(codes [][]uint8, w, scales []float32, elements, width int) []float32 {
	sum := make([]float32, elements)
	for len(codes) > 0 {
		n := min(len(codes), GroupRows)
		v := make([]float32, n)
		var peak float32
		for i := range v {
			v[i] = w[i] * scales[i]
			peak = max(peak, float32(math.Abs(float64(v[i]))))
		}
		perStep := Largest / peak
		for j := range sum {
			total := int64(0)
			for i, x := range v {
				if peak > 0 {
					total += int64(math.RoundToEven(float64(x*perStep))) * oddOf(codes[i][j], width)
				}
			}
			sum[j] += float32(float32(total) * (peak / Largest))
		}
		codes, w, scales = codes[n:], w[n:], scales[n:]
	}
	return sum
}

// packed returns rows of codes.
func packed(codes [][]uint8, elements, width int) []uint64 {
	words := Words(elements, width)
	rows := make([]uint64, len(codes)*words)
	for i, c := range codes {
		Pack(rows[i*words:][:words], c, width)
	}
	return rows
}

// sumsOfTier returns what the tier makes of several sets of weights, and looks behind the sums.
func sumsOfTier(t *testing.T, codes [][]uint8, w [][]float32, scales []float32, elements, width int) [][]float32 {
	t.Helper()
	words, n := Words(elements, width), len(codes)
	length, size := WeightWords(n), SumPlaces(words, width)
	weights := make([]uint64, len(w)*length)
	for k, set := range w {
		Weigh(weights[k*length:][:length], set, scales, width)
	}
	const guard = 8
	sums := make([]float32, len(w)*size+2*guard)
	for i := range guard {
		sums[i], sums[len(sums)-1-i] = -1, -1
	}
	Sums(sums[guard:], packed(codes, elements, width), weights, n, words, width, len(w), length)
	for i := range guard {
		require.EqualValues(t, -1, sums[i])
		require.EqualValues(t, -1, sums[len(sums)-1-i])
	}
	all := make([][]float32, len(w))
	for k := range all {
		all[k] = make([]float32, elements)
		Collect(all[k], sums[guard+k*size:][:size], words, width)
	}
	return all
}

func checkSums(t *testing.T, codes [][]uint8, w [][]float32, scales []float32, elements, width int) {
	t.Helper()
	for k, got := range sumsOfTier(t, codes, w, scales, elements, width) {
		require.Equal(t, sumOf(codes, w[k], scales, elements, width), got, "width = %d, %d elements, %d rows, set %d of %d", width, elements, len(codes), k, len(w))
	}
}

func randomWeights(r *rand.Rand, n int) []float32 {
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(math.Exp(3*r.NormFloat64())) * float32(1-2*r.IntN(2))
	}
	return w
}

// Rows of every length up to three strips of kernels, and rows and sets of every number that
// kernels treat differently.
func TestSums(t *testing.T) {
	everyProductTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 1))
		for _, width := range sumWidths {
			for words := 1; words <= 13; words++ {
				elements := words*64/width - r.IntN(5)
				rows := func(n int) [][]uint8 { return several(n, func() []uint8 { return randomCodes(r, elements, width) }) }
				sets := func(k, n int) [][]float32 { return several(k, func() []float32 { return randomWeights(r, n) }) }
				for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 63, 64, 65, 67, 130} {
					checkSums(t, rows(n), sets(1, n), randomWeights(r, n), elements, width)
				}
				for k := range 6 {
					checkSums(t, rows(69), sets(k, 69), randomWeights(r, 69), elements, width)
				}
			}
		}
	})
}

// The largest sums: all codes and weights at their ends.
//
//ci:slow
func TestLargestSumsOfRows(t *testing.T) {
	everyProductTier(t, func(t *testing.T) {
		for _, width := range sumWidths {
			for _, elements := range []int{64, 80, 4096, 5000} {
				for _, code := range []uint8{0, 255} {
					for _, weight := range []float32{-1, 1, -127.0 / 32639, 128.0 / 32639, -128.0 / 32639} {
						const n = 2*GroupRows + 3
						codes := several(n, func() []uint8 { return slices.Repeat([]uint8{code & (1<<width - 1)}, elements) })
						w := slices.Repeat([]float32{weight}, n)
						w[0], w[GroupRows] = 1, 1 // the step stays
						checkSums(t, codes, [][]float32{w, w, w}, slices.Repeat([]float32{1}, n), elements, width)
					}
				}
			}
		}
	})
}

// Weights next to 0, all 0, and not finite, with other groups before and behind.
func TestUnusualWeights(t *testing.T) {
	everyProductTier(t, func(t *testing.T) {
		const elements, width = 40, 8
		r := rand.New(rand.NewPCG(8, 1))
		for _, n := range []int{5, GroupRows, 3*GroupRows + 5} {
			codes := several(n, func() []uint8 { return randomCodes(r, elements, width) })
			ones, middle := slices.Repeat([]float32{1}, n), min(n-1, GroupRows+7)
			sums := func(w []float32) []float32 { return sumsOfTier(t, codes, [][]float32{w}, ones, elements, width)[0] }
			for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
				w := randomWeights(r, n)
				w[middle] = bad
				for _, v := range sums(w) {
					require.True(t, v != v, "%v of %v", v, bad)
				}
			}
			assert.Equal(t, make([]float32, elements), sums(make([]float32, n)))
			for _, peak := range []float32{1e-30, 1e-34, 1e-37} {
				w := make([]float32, n)
				w[middle], w[0] = peak, -peak
				for j, v := range sums(w) {
					want := float64(peak) * float64(oddOf(codes[middle][j], width)-oddOf(codes[0][j], width))
					require.InDelta(t, want, float64(v), 1e-6*255*float64(peak)+math.SmallestNonzeroFloat32*Largest*255)
				}
			}
			w := slices.Repeat([]float32{math.MaxFloat32 / 1e6}, n)
			for j, v := range sums(w) {
				want := 0.0
				for i := range codes {
					want += float64(w[i]) * float64(oddOf(codes[i][j], width))
				}
				require.InDelta(t, want, float64(v), 1e-4*255*float64(w[0])*float64(n))
			}
		}
	})
}

func TestShortSums(t *testing.T) {
	const n, words, sets, width = 70, 5, 2, 8
	sums, rows, weights := make([]float32, sets*SumPlaces(words, width)), make([]uint64, n*words), make([]uint64, sets*WeightWords(n))
	call := func(sums []float32, rows, weights []uint64) func() {
		return func() { Sums(sums, rows, weights, n, words, width, sets, WeightWords(n)) }
	}
	assert.NotPanics(t, call(sums, rows, weights))
	assert.Panics(t, call(sums[:len(sums)-1:len(sums)-1], rows, weights))
	assert.Panics(t, call(sums, rows[:n*words-1:n*words-1], weights))
	assert.Panics(t, call(sums, rows, weights[:len(weights)-1:len(weights)-1]))
	w := make([]float32, n)
	assert.Panics(t, func() { Weigh(weights[:3:3], w, w, width) })
	assert.Panics(t, func() { Weigh(weights, w, w[:n-1:n-1], width) })
}
