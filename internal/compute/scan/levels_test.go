package scan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var levelWidths = []int{2, 4, 8}

// randomLevels returns levels of all codes, opposite for opposite codes of 8 bits.
func randomLevels(r *rand.Rand, width int) []int {
	levels := make([]int, 1<<width)
	for c := range levels {
		levels[c] = 2*r.IntN(1<<16) - 65535
		if width == 8 && c >= 128 {
			levels[c] = -levels[255-c]
		}
	}
	return levels
}

// levelProductOf returns the product by its definition, and checks it against that of whole
// numbers.
func levelProductOf(t *testing.T, codes []uint8, levels []int, whole []int16) float32 {
	t.Helper()
	var a, b, c, sum int64
	for i, code := range codes {
		level := int64(levels[code])
		h := (level + 65535) / 2 >> 8 // of the bytes
		high, low := 2*h-255, level-256*(2*h-255)
		ql := (int64(whole[i])+128)&255 - 128
		qh := (int64(whole[i]) - ql) / 256
		a, b, c, sum = a+high*qh, b+high*ql+low*qh, c+low*ql, sum+level*int64(whole[i])
	}
	product := (float32(a)*256+float32(b))*256 + float32(c)
	require.Equal(t, sum, 65536*a+256*b+c)
	require.InDelta(t, float64(sum), float64(product), 0x1p-22*(math.Abs(float64(65536*a))+math.Abs(float64(256*b))+math.Abs(float64(c))))
	return product
}

func checkLevelProducts(t *testing.T, codes [][]uint8, levels []int, queries [][]int16, elements, width int) {
	t.Helper()
	words, rows, table := Words(elements, width), packed(codes, elements, width), NewTable(levels)
	checkEach(t, codes, queries, elements, width, func(c []uint8, q []int16) float32 {
		return levelProductOf(t, c, levels, q)
	}, func(dst []float32, digits []uint64, stride int) {
		LevelProducts(dst, rows, table, digits, len(codes), words, width, len(queries), stride)
	})
}

func TestLevelProducts(t *testing.T) {
	everyLevelTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 1))
		for _, width := range levelWidths {
			levels := randomLevels(r, width)
			for words := 1; words <= 7; words++ {
				elements := words*64/width - r.IntN(5)
				code, whole := func() []uint8 { return randomCodes(r, elements, width) }, func() []int16 { return randomWhole(r, elements, width) }
				for _, n := range []int{0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 33} {
					checkLevelProducts(t, several(n, code), levels, several(1, whole), elements, width)
				}
				for queries := range 4 {
					checkLevelProducts(t, several(9, code), levels, several(queries, whole), elements, width)
				}
			}
		}
	})
}

// Every code has its level.
func TestTable(t *testing.T) {
	everyLevelTier(t, func(t *testing.T) {
		for _, width := range levelWidths {
			levels, last := make([]int, 1<<width), uint8(1<<width-1)
			for c := range levels {
				i := max(c, len(levels)-1-c) - len(levels)/2
				levels[c] = 2*i*i + 2*i + 1
				if 2*c < len(levels) {
					levels[c] *= -1
				}
			}
			for c := range levels {
				checkLevelProducts(t, [][]uint8{{0, uint8(c), last}}, levels, [][]int16{{0, 1, 0}, {1, inRange(300, width), -1}}, 3, width)
			}
		}
	})
}

// The largest sums, in rows as long as sums of 32 bits allow and in longer ones.
//
//ci:slow
func TestLargestLevelProducts(t *testing.T) {
	everyLevelTier(t, func(t *testing.T) {
		for _, width := range levelWidths {
			levels := make([]int, 1<<width)
			for i := range levels {
				if levels[i] = math.MaxUint16; 2*i < len(levels) {
					levels[i] *= -1
				}
			}
			for _, elements := range []int{64, 4096, longestLevels, longestLevels + 1} {
				for _, code := range []uint8{0, uint8(1<<width - 1)} {
					codes := slices.Repeat([]uint8{code}, elements)
					for _, multiple := range []int16{-Largest, -128, 256*127 - 128, Largest} {
						checkLevelProducts(t, [][]uint8{codes}, levels, [][]int16{slices.Repeat([]int16{inRange(multiple, width)}, elements)}, elements, width)
					}
				}
			}
		}
	})
}

func TestShortLevelProducts(t *testing.T) {
	const n, words, queries, stride = 3, 5, 2, 4
	dst, rows, digits := make([]float32, stride+n), make([]uint64, n*words), make([]uint64, queries*DigitWords(words, 8))
	call := func(dst []float32, rows, digits []uint64) func() {
		return func() { LevelProducts(dst, rows, new(Table), digits, n, words, 8, queries, stride) }
	}
	assert.NotPanics(t, call(dst, rows, digits))
	assert.Panics(t, call(dst[:stride+n-1], rows, digits))
	assert.Panics(t, call(dst, rows[:n*words-1:n*words-1], digits))
	assert.Panics(t, call(dst, rows, digits[:len(digits)-1:len(digits)-1]))
}
