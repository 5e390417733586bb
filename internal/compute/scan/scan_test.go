package scan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func randomCodes(r *rand.Rand, n, width int) []uint8 {
	codes := make([]uint8, n)
	for i := range codes {
		codes[i] = uint8(r.IntN(1 << width))
	}
	return codes
}

// Packed codes come back, and every element has a place of its own.
func TestPack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, width := range []int{1, 2, 4, 8} {
		for _, n := range []int{1, 2, 15, 16, 17, 31, 63, 64, 65, 96, 100, 127, 128, 200, 511, 512, 513, 768, 1000, 1300} {
			codes := randomCodes(r, n, width)
			row := make([]uint64, Words(n, width))
			assert.Equal(t, (n*width+63)/64, len(row))
			for i := range row {
				row[i] = r.Uint64()
			}
			Pack(row, codes, width)
			back := make([]uint8, n)
			Unpack(back, row, width)
			require.Equal(t, codes, back, "n = %d, width = %d", n, width)
		}
	}
	assert.Equal(t, math.MaxInt/64+1, Words(math.MaxInt, 1), "no product overflows")
}

// testRows compares the kernels of the tier with plain sums over elements, for rows of every length
// up to three blocks and groups of every size, and looks at the words around dst.
func testRows(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for words := 1; words <= 3*blockWords+1; words++ {
		n := max(0, words*64-r.IntN(3))
		weights := make([]int8, n)
		for i := range weights {
			weights[i] = int8(r.IntN(2*MaxWeight+1) - MaxWeight)
		}
		planes := make([]uint64, PlaneWords(words))
		Slice(planes, weights, make([]uint8, n), make([]uint64, words))
		for count := range 7 {
			rows, signs := make([]uint64, count*words), make([]float32, count)
			for i := range count {
				codes := randomCodes(r, n, 1)
				Pack(rows[i*words:][:words], codes, 1)
				for j, c := range codes {
					signs[i] += float32(c) * float32(weights[j])
				}
			}
			const guard = 8
			sums := make([]float32, count+2*guard)
			Signs(sums[guard:guard+count], rows, planes, words)
			assert.Equal(t, signs, sums[guard:guard+count], "words = %d, %d rows", words, count)
			for i := range guard {
				require.Zero(t, sums[i])
				require.Zero(t, sums[guard+count+i])
			}
		}
	}
}

func TestRows(t *testing.T) { everyTier(t, testRows) }

// The largest sums: long rows of weights at their ends.
//
//ci:slow
func TestLargestSums(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		for _, weight := range []int8{MaxWeight, -MaxWeight} {
			const n = 1 << 17
			words := Words(n, 1)
			rows, weights := make([]uint64, 5*words), make([]int8, n)
			for i := range rows {
				rows[i] = math.MaxUint64
			}
			for i := range weights {
				weights[i] = weight
			}
			planes := make([]uint64, PlaneWords(words))
			Slice(planes, weights, make([]uint8, n), make([]uint64, words))
			dst := make([]float32, 5)
			Signs(dst, rows, planes, words)
			want := n * float32(weight)
			assert.Equal(t, []float32{want, want, want, want, want}, dst)
		}
	})
}

func TestShort(t *testing.T) {
	assert.Panics(t, func() { Signs(make([]float32, 2), make([]uint64, 5), make([]uint64, PlaneWords(3)), 3) })
	assert.Panics(t, func() { Signs(make([]float32, 2), make([]uint64, 6), make([]uint64, 47), 3) })
}

func TestAllocations(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		assert.Zero(t, testing.AllocsPerRun(5, func() {
			// Slices on the stack have to stay there.
			var rows [24]uint64
			var sums [2]float32
			var products [2]float32
			var planes [2 * blockWords * Planes]uint64
			var levels Table
			var digits [2 * 400]uint64
			Signs(sums[:], rows[:], planes[:], 12)
			for _, width := range levelWidths {
				LevelProducts(products[:], rows[:], &levels, digits[:], 2, 12, width, 1, 2)
			}
			var weights [2 * groupWords]uint64
			var places [2 * 12 * 16]float32
			for _, width := range sumWidths {
				Weigh(weights[:], products[:], products[:], width)
				Sums(places[:], rows[:], weights[:], 2, 12, width, 2, groupWords)
				Collect(products[:], places[:SumPlaces(12, width)], 12, width)
			}
			for _, width := range productWidths {
				Products(products[:], rows[:], digits[:2*DigitWords(12, width)], 1, 12, width, 2, 1)
			}
		}))
	})
}
