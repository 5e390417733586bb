package scan

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// levelWidths are those of Levels.
var levelWidths = []int{1, 2, 4}

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
	for _, width := range levelWidths {
		table := make([]float32, TableSize)
		for i := range table {
			table[i] = float32(i&(1<<width-1)) - 0.37*float32(int(1)<<width)
		}
		for words := 1; words <= 3*blockWords+1; words++ {
			n := max(0, words*64/width-r.IntN(3))
			x, weights := make([]float32, n), make([]int8, n)
			for i := range x {
				x[i] = float32(r.NormFloat64())
				weights[i] = int8(r.IntN(2*MaxWeight+1) - MaxWeight)
			}
			query := make([]float32, Arranged(words, width))
			query = append(query, float32(math.NaN()))[:len(query)] // nobody reads behind it
			Arrange(query, x, words, width)
			planes := make([]uint64, PlaneWords(words))
			Slice(planes, weights, make([]uint8, n), make([]uint64, words))
			for count := range 7 {
				rows := make([]uint64, count*words)
				want, size, signs := make([]float64, count), make([]float64, count), make([]float32, count)
				for i := range count {
					codes := randomCodes(r, n, width)
					Pack(rows[i*words:][:words], codes, width)
					for j, c := range codes {
						term := float64(table[c]) * float64(x[j])
						want[i] += term
						size[i] += math.Abs(term)
						signs[i] += float32(c&1) * float32(weights[j])
					}
				}
				const guard = 8
				dst := make([]float32, count+2*guard)
				for i := range dst {
					dst[i] = -1
				}
				Levels(dst[guard:guard+count], rows, table, query, words, width)
				reference := make([]float32, count)
				levelsReference(reference, rows, table, query, words, width)
				require.Equal(t, reference, dst[guard:guard+count], "width = %d, words = %d, %d rows", width, words, count)
				for i, v := range dst {
					if i < guard || i >= guard+count {
						require.EqualValues(t, -1, v, "a word at distance %d", i-guard)
						continue
					}
					// Every term and every addition rounds.
					require.InDelta(t, want[i-guard], v, float64(n+2)*0x1p-24*size[i-guard], "width = %d, words = %d, row %d of %d", width, words, i-guard, count)
				}
				if width > 1 {
					continue
				}
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

// Sums that float64 rounds to half way between two numbers of float32, tiny ones, and any.
func TestFused(t *testing.T) {
	check := func(a, b, c float32) {
		exact := new(big.Float).SetPrec(400).SetFloat64(float64(a) * float64(b))
		want, _ := exact.Add(exact, big.NewFloat(float64(c))).Float32()
		require.Equal(t, want, fused(a, b, c), "%v·%v + %v", a, b, c)
	}
	r := rand.New(rand.NewPCG(3, 1))
	for _, sign := range []float32{1, -1} {
		for _, c := range []float32{1, 1 + 0x1p-23, -1, -1 - 0x1p-23, 0x1p-149, 0} {
			check(sign*0x1p-24, 1+0x1p-23, c)
			check(sign*0x1p-24*(1+0x1p-23), 1-0x1p-24, c)
			check(sign*0x1p-24*(1+0x1p-23), 1-0x1p-23, c)   // 2⁻²⁴·(1 − 2⁻⁴⁶)
			check(sign*0x1p-24*(1+0x1p-12), 1-0xfffp-24, c) // 2⁻²⁴·(1 + 2⁻³⁶)
			check(sign*0x1p-75, 0x1.8p-75, c)
			check(sign*0x1p-75*(1+0x1p-23), 0x1p-75, c)
			check(sign, 1, c)
		}
	}
	for range 20000 {
		number := func(exponents int) float32 { return float32(math.Ldexp(r.NormFloat64(), -r.IntN(exponents))) }
		check(number(30), number(30), number(20))
		check(number(140), number(20), number(149))
	}
}

func TestShort(t *testing.T) {
	assert.Panics(t, func() { Signs(make([]float32, 2), make([]uint64, 5), make([]uint64, PlaneWords(3)), 3) })
	assert.Panics(t, func() { Signs(make([]float32, 2), make([]uint64, 6), make([]uint64, 47), 3) })
	table, query := make([]float32, TableSize), make([]float32, Arranged(3, 4))
	assert.Panics(t, func() { Levels(make([]float32, 2), make([]uint64, 5), table, query, 3, 4) })
	assert.Panics(t, func() { Levels(make([]float32, 2), make([]uint64, 6), table[:15:15], query, 3, 4) })
	assert.Panics(t, func() { Levels(make([]float32, 2), make([]uint64, 6), table, query[:5:5], 3, 4) })
}

func TestAllocations(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		assert.Zero(t, testing.AllocsPerRun(5, func() {
			// Slices on the stack have to stay there.
			var rows [24]uint64
			var sums [2]float32
			var products [2]float32
			var planes [2 * blockWords * Planes]uint64
			var query [2 * 32 * lanes]float32
			var table [TableSize]float32
			var levels Table
			var digits [2 * 120]uint64
			Signs(sums[:], rows[:], planes[:], 12)
			for _, width := range levelWidths {
				Levels(products[:], rows[:], table[:], query[:], 12, width)
			}
			var weights [2 * groupWords]uint64
			var places [2 * 12 * 16]float32
			for _, width := range productWidths {
				Weigh(weights[:], products[:], products[:], width)
				Sums(places[:], rows[:], weights[:], 2, 12, width, 2)
				Collect(products[:], places[:SumPlaces(12, width)], 12, width)
				Products(products[:], rows[:], digits[:2*DigitWords(12, width)], 1, 12, width, 2, 1)
			}
			LevelProducts(products[:], rows[:], &levels, digits[:], 2, 12, 1, 2)
		}))
	})
}
