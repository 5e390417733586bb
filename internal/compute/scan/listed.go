package scan

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

const (
	chunkWords = 8              // digits of a listed query come in runs of as many words
	headBytes  = 8 * chunkWords // the constants of a listed query, and padding
	ListedStep = 4              // ListedProducts takes as many rows at a time
	ListedMore = 2 * ListedStep // ListedProducts looks at as many addresses after the last
)

// ListedBytes returns the number of bytes of a query for ListedProducts.
func ListedBytes(words, width int) int {
	return headBytes + (words+chunkWords-1)/chunkWords*8/width*digitsEach(width)*headBytes
}

// ListedPlaces returns, for each of n elements, the place of its last digit in a query for
// ListedProducts, with codes of 8, 4, 2 or 1 bits. The first of two digits is 64 bytes before. A
// query begins with 64 bytes of RoundListed. For each 8 words of a row follow 64 bytes with the
// first digits of the codes in the lowest bits of each byte, and 64 bytes with the second digits.
// The same bytes follow for the next bits of each byte.
func ListedPlaces(n, words, width int) []uint32 {
	p, digits := make([]uint32, n), digitsEach(width)
	places(n, words, width, func(i, at, part int) {
		p[i] = uint32(headBytes + ((at/headBytes*8/width+part)*digits+digits-1)*headBytes + at%headBytes)
	})
	return p
}

// RoundListed writes the digits of x[i]·perStep, at most LargestOf(width), to a query.
func RoundListed[T float32 | float64](query []byte, x []T, places []uint32, perStep T, width int) {
	const magic = 3 << 22 // a float32 of this size has no fraction
	var high, low int
	places = places[:len(x)]
	if digitsEach(width) == 1 {
		for i, v := range x {
			l := int8(math.Float32bits(float32(v*perStep) + magic))
			low += int(l)
			query[places[i]] = byte(l)
		}
	} else {
		for i, v := range x {
			whole := int16(math.Float32bits(float32(v*perStep) + magic))
			l := int8(whole)
			h := int8((int(whole) - int(l)) >> 8)
			high, low = high+int(h), low+int(l)
			at := places[i]
			query[at], query[at-headBytes] = byte(l), byte(h)
		}
	}
	binary.LittleEndian.PutUint64(query, uint64(high*(1<<width-1)))
	binary.LittleEndian.PutUint64(query[8:], uint64(low*(1<<width-1)))
}

// WholeOf reads the digits of a query for ListedProducts.
func WholeOf(whole []int16, query []byte, places []uint32, width int) {
	for i, at := range places[:len(whole)] {
		whole[i] = int16(int8(query[at]))
		if digitsEach(width) == 2 {
			whole[i] += int16(int8(query[at-headBytes])) << 8
		}
	}
}

// Listed reports whether the machine has kernels for ListedProducts, for rows at any addresses.
// Otherwise Products is as fast, and the rows of both begin at words.
func Listed() bool { return tier == simd.AVX2 || tier == simd.AVX512 }

// ListedProducts sets dst[i] to the product of the row at rows[i] with a query, with the values of
// Products. n is a multiple of ListedStep, and rows has ListedMore addresses of rows after the
// first n, which are only fetched to the cache.
func ListedProducts(dst []float32, rows []*byte, query []byte, n, words, width int) {
	if n == 0 {
		return
	}
	_, _, _ = dst[n-1], rows[n+ListedMore-1], query[ListedBytes(words, width)-1]
	if words > longest[width] {
		listedProductsReference(dst, rows, query, n, words, width)
	} else {
		listedProducts(dst, rows, query, n, words, width)
	}
}

// ListedRange is ListedProducts for n rows side by side. n may be any number. It lists rows of 1
// bit, because products take longer than reading them, and the last rows. Kernels multiply up to 3
// words of the next row by digits of query that must be 0, because masks are slow.
func ListedRange(dst []float32, rows []uint64, query []byte, n, words, width int) {
	beyond := (4 - words%4) % 4
	done := max(0, n*words-beyond) / words / ListedStep * ListedStep
	rows, _ = rows[:n*words], query[ListedBytes(words, width)-1]
	switch dst = dst[:n]; {
	case width == 1 || done == 0:
		done = 0
	case words > longest[width]:
		listedRangeReference(dst, rows, query, done, words, width)
	default:
		listedRange(dst, rows, query, done, words, width)
	}
	const some = 64
	var list [some + ListedMore]*byte
	for ; done < n; done += some {
		most := min(some, (n-done+ListedStep-1)/ListedStep*ListedStep)
		for i := range list[:most+ListedMore] {
			list[i] = (*byte)(unsafe.Pointer(&rows[min(done+i, n-1)*words]))
		}
		var products [some]float32
		ListedProducts(products[:], list[:], query, most, words, width)
		copy(dst[done:], products[:])
	}
}

func listedRangeReference(dst []float32, rows []uint64, digits []byte, n, words, width int) {
	for i := range n {
		row := (*byte)(unsafe.Pointer(&rows[i*words]))
		listedProductsReference(dst[i:], []*byte{row}, digits, 1, words, width)
	}
}

func listedProductsReference(dst []float32, rows []*byte, digits []byte, n, words, width int) {
	mask, each := uint64(1<<width-1), digitsEach(width)
	constant := func(at int) int64 { return int64(binary.LittleEndian.Uint64(digits[at:])) }
	for i := range n {
		var high, low int64
		for w, word := range unsafe.Slice((*uint64)(unsafe.Pointer(rows[i])), words) {
			for p := range 8 / width {
				at := headBytes + (w/chunkWords*8/width+p)*each*headBytes + w%chunkWords*8
				h, l := digits[at:][:8], digits[at+(each-1)*headBytes:][:8]
				for b, codes := 0, word>>(p*width); b < 8; b, codes = b+1, codes>>8 {
					c := int64(codes & mask)
					high += c * int64(int8(h[b]))
					low += c * int64(int8(l[b]))
				}
			}
		}
		if high, low = 2*high-constant(0), 2*low-constant(8); each == 1 {
			high = 0
		}
		dst[i] = float32(high)*256 + float32(low)
	}
}
