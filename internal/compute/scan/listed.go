package scan

import (
	"encoding/binary"
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

const (
	chunkWords = 8              // digits of a listed query come in runs of as many words
	headBytes  = 8 * chunkWords // the constants of a listed query, and padding
	ListedStep = 4              // ListedProducts takes as many rows at a time
	ListedMore = 2 * ListedStep // ListedProducts looks at as many addresses after the last
)

// ListedBytes returns the number of bytes of a query of so many digits in the layout of ListedPlaces.
func ListedBytes(words, width, digits int) int {
	return headBytes + (words+chunkWords-1)/chunkWords*8/width*digits*headBytes
}

// ListedPlaces returns, for each of n elements, the place of its last digit in a query for
// ListedProducts, with codes of 8, 4, 2 or 1 bits. The first of two digits is 64 bytes before. A
// query begins with 64 bytes that SetListedSums writes. For each 8 words of a row follow 64 bytes
// with the first digits of the codes in the lowest bits of each byte, and 64 bytes with the second
// digits. The same bytes follow for the next bits of each byte.
func ListedPlaces(n, words, width, digits int) []uint32 {
	p := make([]uint32, n)
	places(n, words, width, func(i, at, part int) {
		p[i] = uint32(headBytes + ((at/headBytes*8/width+part)*digits+digits-1)*headBytes + at%headBytes)
	})
	return p
}

// SetListedSums writes the constants of a query, from the sums of its upper and lower digits.
func SetListedSums(query []byte, width int, high, low int64) {
	binary.LittleEndian.PutUint64(query, uint64(high*(1<<width-1)))
	binary.LittleEndian.PutUint64(query[8:], uint64(low*(1<<width-1)))
}

// Unaligned reports whether the rows of ListedProducts may begin at any address, and have the bytes
// of a little-endian machine. Rows are words otherwise.
func Unaligned() bool { return tier != simd.Generic }

// ListedProducts sets dst[i] to the product of the row at rows[i] with a query of one or two digits,
// with the values of Products. n is a multiple of ListedStep, and rows has ListedMore addresses of
// rows after the first n, which are only fetched to the cache.
func ListedProducts(dst []float32, rows []*byte, query []byte, n, words, width, digits int) {
	if n == 0 {
		return
	}
	_, _, _ = dst[n-1], rows[n+ListedMore-1], query[ListedBytes(words, width, digits)-1]
	switch {
	case words > longest[width]:
		multiplyListed(dst, rows, query, n, words, width, digits)
	case digits == 1:
		listedByteProducts(dst, rows, query, n, words, width)
	default:
		listedProducts(dst, rows, query, n, words, width)
	}
}

func listedProductsReference(dst []float32, rows []*byte, digits []byte, n, words, width int) {
	multiplyListed(dst, rows, digits, n, words, width, 2)
}

func listedByteProductsReference(dst []float32, rows []*byte, digits []byte, n, words, width int) {
	multiplyListed(dst, rows, digits, n, words, width, 1)
}

func multiplyListed(dst []float32, rows []*byte, query []byte, n, words, width, digits int) {
	mask := uint64(1<<width - 1)
	constant := func(at int) int64 { return int64(binary.LittleEndian.Uint64(query[at:])) }
	for i := range n {
		var high, low int64
		for w, word := range unsafe.Slice((*uint64)(unsafe.Pointer(rows[i])), words) {
			for p := range 8 / width {
				at := headBytes + (w/chunkWords*8/width+p)*digits*headBytes + w%chunkWords*8
				h, l := query[at:][:8], query[at+(digits-1)*headBytes:][:8]
				for b, codes := 0, word>>(p*width); b < 8; b, codes = b+1, codes>>8 {
					c := int64(codes & mask)
					high += c * int64(int8(h[b]))
					low += c * int64(int8(l[b]))
				}
			}
		}
		if high, low = 2*high-constant(0), 2*low-constant(8); digits == 1 {
			high = 0
		}
		dst[i] = float32(high)*256 + float32(low)
	}
}
