package scan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var productWidths = []int{1, 2, 4, 8}

// oddOf returns what a code stands for.
func oddOf(code uint8, width int) int64 { return 2*int64(code) - (1<<width - 1) }

// productOf returns the product by its definition, and checks it against that of whole numbers.
func productOf(t *testing.T, codes []uint8, whole []int16, width int) float32 {
	t.Helper()
	var high, low, sum int64
	for i, c := range codes {
		l := (int64(whole[i])+128)&255 - 128
		h := (int64(whole[i]) - l) / 256
		odd := oddOf(c, width)
		high, low, sum = high+odd*h, low+odd*l, sum+odd*int64(whole[i])
	}
	product := float32(high)*256 + float32(low)
	require.Equal(t, sum, 256*high+low)
	require.InDelta(t, float64(sum), float64(product), 0x1p-23*(math.Abs(float64(256*high))+math.Abs(float64(low))))
	return product
}

// checkProducts compares the products of the tier with their definition, and looks at the words
// around dst.
func checkProducts(t *testing.T, codes [][]uint8, queries [][]int16, elements, width int) {
	t.Helper()
	words, rows := Words(elements, width), packed(codes, elements, width)
	checkEach(t, codes, queries, elements, width, func(c []uint8, q []int16) float32 {
		return productOf(t, c, q, width)
	}, func(dst []float32, digits []uint64, stride int) {
		Products(dst, rows, digits, len(codes), words, width, len(queries), stride)
	})
}

// checkEach compares what products writes with the product of each code and query.
func checkEach(t *testing.T, codes [][]uint8, queries [][]int16, elements, width int, product func(c []uint8, q []int16) float32, products func(dst []float32, digits []uint64, stride int)) {
	t.Helper()
	words, n := Words(elements, width), len(codes)
	length := DigitWords(words, width)
	digits := make([]uint64, len(queries)*length)
	for k, q := range queries {
		Digits(digits[k*length:][:length], q, words, width)
	}
	const guard, gap = 8, 3
	stride := n + gap
	dst := make([]float32, len(queries)*stride+2*guard)
	want := make([]float32, len(dst))
	for i := range dst {
		dst[i], want[i] = -1, -1
	}
	for k, q := range queries {
		for i, c := range codes {
			want[guard+k*stride+i] = product(c, q)
		}
	}
	products(dst[guard:], digits, stride)
	require.Equal(t, want, dst, "width = %d, %d elements, %d rows, %d queries", width, elements, n, len(queries))
}

func randomWhole(r *rand.Rand, n, width int) []int16 {
	whole := make([]int16, n)
	for i := range whole {
		whole[i] = int16(r.IntN(2*LargestOf(width)+1) - LargestOf(width))
	}
	return whole
}

// inRange returns the number of a query that is nearest to a whole number.
func inRange(whole int16, width int) int16 {
	return int16(max(-LargestOf(width)-1, min(int(whole), LargestOf(width))))
}

func several[E any](n int, f func() []E) [][]E {
	all := make([][]E, n)
	for i := range all {
		all[i] = f()
	}
	return all
}

// Rows of every length up to three strips, and rows and queries of every number that kernels treat
// differently.
func TestProducts(t *testing.T) {
	everyProductTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 1))
		for _, width := range productWidths {
			for words := 1; words <= 3*stripWords+1; words++ {
				elements := words*64/width - r.IntN(5)
				code, whole := func() []uint8 { return randomCodes(r, elements, width) }, func() []int16 { return randomWhole(r, elements, width) }
				for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33} {
					checkProducts(t, several(n, code), several(1, whole), elements, width)
				}
				for queries := range 10 {
					checkProducts(t, several(9, code), several(queries, whole), elements, width)
				}
			}
		}
	})
}

// The largest sums, of codes and multiples at their ends, in rows as long as sums of 32 bits allow
// and in longer ones.
//
//ci:slow
func TestLargestProducts(t *testing.T) {
	everyProductTier(t, func(t *testing.T) {
		for _, width := range productWidths {
			most := longest[width] * 64 / width
			for _, elements := range []int{64, 4096, 8191, most, most + 1} {
				for _, code := range []uint8{0, 255} {
					if elements >= most && code == 0 {
						continue // smaller in size than the sums of codes of 255
					}
					codes := slices.Repeat([]uint8{code & (1<<width - 1)}, elements)
					for _, multiple := range []int16{-Largest, -128, 256*127 - 128, Largest} {
						if elements > most && multiple != Largest {
							continue
						}
						multiple = inRange(multiple, width)
						whole := slices.Repeat([]int16{multiple}, elements)
						checkProducts(t, [][]uint8{codes}, [][]int16{whole}, elements, width)
						if elements <= 4096 {
							checkProducts(t, several(17, func() []uint8 { return codes }), [][]int16{whole, whole}, elements, width)
						}
					}
				}
			}
		}
	})
}

// Round is the nearest multiple of its step, and the largest is ±Largest.
func TestRound(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for _, scale := range []float64{1, 1e-30, 1e30} {
		x, whole := make([]float32, 1000), make([]int16, 1000)
		for i := range x {
			x[i] = float32(scale * r.NormFloat64())
		}
		x[77] = float32(-9 * scale)
		step := Round(whole, x, 4)
		assert.EqualValues(t, -Largest, whole[77])
		for i, v := range x {
			require.InDelta(t, float64(v), step*float64(whole[i]), step*(0.5+1e-9))
		}
	}
	whole := []int16{1, 2, 3}
	assert.Zero(t, Round(whole, []float32{0, float32(math.Copysign(0, -1)), 0}, 4))
	assert.Equal(t, []int16{0, 0, 0}, whole)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		whole = []int16{1, 2, 3}
		step := Round(whole, []float64{1, bad, 2}, 4)
		assert.True(t, step != step)
		assert.Equal(t, []int16{0, 0, 0}, whole)
	}
	assert.EqualValues(t, 3, Magnitude([]float32{1, -3, 2}))
	assert.EqualValues(t, 3, Magnitude([]float64{1, -3, 2}))
	for _, tiny := range []float32{math.SmallestNonzeroFloat32, 0x1p-126, math.MaxFloat32} {
		step := Round(whole, []float32{tiny, -tiny, 0}, 4)
		assert.Equal(t, []int16{Largest, -Largest, 0}, whole, "step %g", step)
	}
	Round(whole, []float64{math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0}, 4)
	assert.Equal(t, []int16{Largest, -Largest, 0}, whole)
	Round(whole, []float32{-3, 1, 0}, 2)
	assert.Equal(t, []int16{-127, 42, 0}, whole)
}

func TestShortProducts(t *testing.T) {
	const n, words, queries, stride = 3, 5, 2, 4
	dst, rows, digits := make([]float32, stride+n), make([]uint64, n*words), make([]uint64, queries*DigitWords(words, 8))
	call := func(dst []float32, rows, digits []uint64) func() {
		return func() { Products(dst, rows, digits, n, words, 8, queries, stride) }
	}
	assert.NotPanics(t, call(dst, rows, digits))
	assert.Panics(t, call(dst[:stride+n-1], rows, digits))
	assert.Panics(t, call(dst, rows[:n*words-1:n*words-1], digits))
	assert.Panics(t, call(dst, rows, digits[:len(digits)-1:len(digits)-1]))
	assert.Panics(t, func() { Digits(digits[:3:3], make([]int16, 9), words, 8) })
}

func ExampleProducts() {
	codes, whole := []uint8{0, 255, 128}, []int16{Largest, Largest, 2}
	var row [1]uint64
	Pack(row[:], codes, 8)
	digits := make([]uint64, DigitWords(1, 8))
	Digits(digits, whole, 1, 8)
	var product [1]float32
	Products(product[:], row[:], digits, 1, 1, 8, 1, 1)
	fmt.Println(product[0]) // (−255 + 255)·Largest + 1·2
	// Output: 2
}
