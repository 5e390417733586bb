package scan

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listedQuery arranges whole numbers for ListedProducts.
func listedQuery(t *testing.T, whole []int16, words, width int) []byte {
	query, places := make([]byte, ListedBytes(words, width)), ListedPlaces(len(whole), words, width)
	x, again := make([]float32, len(whole)), make([]int16, len(whole))
	for i, v := range whole {
		x[i] = 4 * (float32(v) + 0.25)
	}
	RoundListed(query, x, places, 0.25, width)
	WholeOf(again, query, places, width)
	require.Equal(t, whole, again)
	return query
}

// checkListed compares products with their definition, for rows that are a byte from where words
// are if the tier permits, and looks at the elements around dst.
func checkListed(t *testing.T, codes [][]uint8, whole []int16, width int) {
	t.Helper()
	words, n := Words(len(whole), width), len(codes)/ListedStep*ListedStep
	list := make([]*byte, n+ListedMore)
	rows, exact := make([]uint64, len(codes)*words), make([]float32, len(codes))
	for i, c := range codes {
		Pack(rows[i*words:][:words], c, width)
		exact[i] = productOf(t, c, whole, width)
	}
	for i := range list {
		row := make([]uint64, words+1)
		copy(row, rows[i%len(codes)*words:][:words])
		b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(row))), 8*words+1)
		if Listed() && i%2 == 1 {
			copy(b[1:], b[:8*words])
			b[0] = 255
			b = b[1:]
		}
		list[i] = unsafe.SliceData(b)
	}
	query := listedQuery(t, whole, words, width)
	check := func(exact []float32, products func(dst []float32)) {
		t.Helper()
		want := slices.Concat([]float32{-1}, exact, []float32{-1})
		dst := slices.Repeat([]float32{-1}, len(want))
		products(dst[1:])
		require.Equal(t, want, dst, "width = %d, %d elements, %d rows", width, len(whole), len(exact))
	}
	check(exact[:n], func(dst []float32) { ListedProducts(dst, list, query, n, words, width) })
	check(exact[1:], func(dst []float32) { ListedRange(dst, rows[words:], query, len(codes)-1, words, width) })
}

func TestListedProducts(t *testing.T) {
	everyProductTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 2))
		for _, width := range productWidths {
			for words := 1; words <= 2*chunkWords+1; words++ {
				elements := words*64/width - r.IntN(5)
				whole := randomWhole(r, elements, max(1, width-1))
				for _, n := range []int{4, 8, 20} {
					checkListed(t, several(n, func() []uint8 { return randomCodes(r, elements, width) }), whole, width)
				}
			}
		}
	})
}

// The largest sums, in rows as long as sums of 32 bits allow and in longer ones.
//
//ci:slow
func TestLargestListedProducts(t *testing.T) {
	everyProductTier(t, func(t *testing.T) {
		for _, width := range productWidths {
			most := longest[width] * 64 / width
			for _, elements := range []int{4096, most, most + 1} {
				for _, code := range []uint8{0, 255} {
					for _, sign := range []int{-1, 1} {
						if elements >= most && (code == 0 || elements > most && sign < 0) {
							continue // smaller in size than the sums of codes of 255
						}
						codes := several(4, func() []uint8 { return slices.Repeat([]uint8{code & (1<<width - 1)}, elements) })
						checkListed(t, codes, slices.Repeat([]int16{int16(sign * LargestOf(width))}, elements), width)
					}
				}
			}
		}
	})
}

func TestShortListedProducts(t *testing.T) {
	const n, words = 4, 5
	rows, query := make([]*byte, n+ListedMore), make([]byte, ListedBytes(words, 8))
	for i := range rows {
		rows[i] = (*byte)(unsafe.Pointer(new([words]uint64)))
	}
	call := func(dst []float32, rows []*byte, query []byte) func() {
		return func() { ListedProducts(dst, rows, query, n, words, 8) }
	}
	assert.NotPanics(t, call(make([]float32, n), rows, query))
	assert.Panics(t, call(make([]float32, n-1), rows, query))
	assert.Panics(t, call(make([]float32, n), rows[1:], query))
	assert.Panics(t, call(make([]float32, n), rows, query[1:]))

	next := func(dst []float32, rows []uint64, query []byte) func() {
		return func() { ListedRange(dst, rows, query, n+1, words, 8) }
	}
	assert.NotPanics(t, next(make([]float32, n+1), make([]uint64, (n+1)*words), query))
	assert.Panics(t, next(make([]float32, n), make([]uint64, (n+1)*words), query))
	assert.Panics(t, next(make([]float32, n+1), make([]uint64, (n+1)*words-1), query))
	assert.Panics(t, next(make([]float32, n+1), make([]uint64, (n+1)*words), query[1:]))
}
