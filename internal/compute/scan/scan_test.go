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

func TestAllocations(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		assert.Zero(t, testing.AllocsPerRun(5, func() {
			// Slices on the stack have to stay there.
			var rows [24]uint64
			var products [2]float32
			var digits [2 * 400]uint64
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
