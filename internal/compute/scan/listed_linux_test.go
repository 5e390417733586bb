package scan

import (
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Products read nothing beyond the rows, which end here where memory ends.
func TestRowsAtTheEnd(t *testing.T) {
	size := os.Getpagesize()
	data, err := syscall.Mmap(-1, 0, 2*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(data)) }()
	require.NoError(t, syscall.Mprotect(data[size:], syscall.PROT_NONE))
	page := unsafe.Slice((*uint64)(unsafe.Pointer(&data[0])), size/8)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range page {
		page[i] = r.Uint64()
	}
	everyProductTier(t, func(t *testing.T) {
		for _, width := range productWidths {
			for words := 1; words <= 2*chunkWords+1; words++ {
				query := listedQuery(t, randomWhole(r, words*64/width, max(1, width-1)), words, width)
				for n := range 3 * ListedStep {
					want, got := make([]float32, n), make([]float32, n)
					listedRangeReference(want, page[len(page)-n*words:], query, n, words, width)
					ListedRange(got, page[len(page)-n*words:], query, n, words, width)
					require.Equal(t, want, got)
				}
				last := (*byte)(unsafe.Pointer(&page[len(page)-words]))
				got := make([]float32, ListedStep)
				ListedProducts(got, slices.Repeat([]*byte{last}, ListedStep+ListedMore), query, ListedStep, words, width)
				ListedRange(got[1:], page[len(page)-words:], query, 1, words, width)
				require.Equal(t, got[0], got[1])
			}
		}
	})
}
