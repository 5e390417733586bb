package scan

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// Products of whole numbers. A query is rounded to multiples of a step, from −Largest to Largest,
// and a code c of b bits stands for the odd number 2c − (2^b − 1).

// Largest is the largest multiple: its two digits are 127.
const Largest = 127 * 257

const (
	stripWords    = 2
	constantWords = 4
)

// longest is the number of words of a row up to which sums of products fit in 32 bits, by width. A
// digit of a query is from −128 to 127, and an odd number up to 255 or 15: the sums of 2¹⁶ elements
// stay below 255·128·2¹⁶ < 2³¹, and those of 2²⁰ below 15·128·2²⁰ < 2³¹.
var longest = [9]int{4: 1 << 20 / 16, 8: 1 << 16 / 8}

// Round sets whole[i] to x[i]/step, rounded, and returns the step, the largest |x[i]| over Largest.
// Zeros have a step of 0. x with NaN or ±Inf has a step of NaN and multiples of 0.
func Round[T float32 | float64](whole []int16, x []T) (step float64) {
	var peak float64
	for _, v := range x {
		peak = max(peak, math.Abs(float64(v)))
	}
	whole = whole[:len(x)]
	switch {
	case peak == 0:
		clear(whole)
		return 0
	case !(peak <= math.MaxFloat64):
		clear(whole)
		return math.NaN()
	}
	for i, v := range x {
		whole[i] = int16(math.RoundToEven(float64(v) / peak * Largest))
	}
	return peak / Largest
}

// DigitWords returns the number of words of a query as Digits has it.
func DigitWords(words, width int) int {
	words, width = SplitWords(words, width), max(width, 4)
	return constantWords + (words+stripWords-1)/stripWords*stripWords*digits(width)
}

// digits returns the number of digits of a query for each byte of a row.
func digits(width int) int { return 2 * 8 / width }

// Digits arranges a query for rows of so many words, with codes of 8 or 4 bits, or of 2 or 1 that
// Split makes codes of 4 of: 4 constants of Products, and then for each strip of 2 words of a row a
// strip with the upper digits of the codes in the lowest bits of each byte, a strip with the lower
// digits, which are from −128 to 127, and for 4 bits two more for the codes in the upper bits.
func Digits(dst []uint64, whole []int16, words, width int) {
	dst = dst[:DigitWords(words, width)]
	clear(dst)
	strips := dst[constantWords:]
	var sum [2]int64
	perByte, splits := digits(max(width, 4)), SplitWords(1, width)
	places(len(whole), words, width, func(i, at, part int) {
		at, part = at+part%splits*8*words, part/splits
		low := int8(whole[i])
		high := (int(whole[i]) - int(low)) >> 8
		sum[0] += int64(high)
		sum[1] += int64(low)
		first := (at/(8*stripWords)*perByte + 2*part) * stripWords
		word, bit := at/8%stripWords, at%8*8
		strips[first+word] |= uint64(uint8(high)) << bit
		strips[first+stripWords+word] |= uint64(uint8(low)) << bit
	})
	for i, s := range sum {
		dst[i] = uint64(s * (1<<width - 1))
		dst[2+i] = uint64(-s)
	}
}

// places calls f for each of n elements of rows of so many words: with the byte of its code, and
// the number of codes in lower bits of the byte.
func places(n, words, width int, f func(i, at, part int)) {
	blocks(words, width, func(element, word, lanes int) {
		for j := range 32 / width {
			for l := range min(lanes, n-element-j*lanes) {
				code := l*(32/width) + j
				f(element+j*lanes+l, 8*word+code*width/8, code*width%8/width)
			}
		}
	})
}

// SplitWords returns the number of words of a row as Products takes it: those of Split, or those of
// the row.
func SplitWords(words, width int) int { return words * max(1, 4/width) }

// Splits reports whether products of split rows with several queries are faster than Signs or
// Levels with one after the other, for codes of 1 or 2 bits.
func Splits(width int) bool {
	return width == 1 && tierOfProducts() == simd.AVX512 || width == 2 && tier != simd.Generic
}

// Split makes rows of codes of 4 bits, as Products takes them, of rows of so many words with codes
// of 1 or 2 bits. Digits for 1 or 2 bits are those of such rows, and products are then
//
//	Σ (2·code − (2^width − 1))·whole
//
// with the codes of 1 or 2 bits.
func Split(dst, rows []uint64, words, width int) {
	if words == 0 {
		return
	}
	for ; len(rows) >= words; rows = rows[words:] {
		row := rows[:words]
		if width == 2 {
			const mask = 0x3333333333333333
			a, b := dst[:words], dst[words:2*words]
			for i, w := range row {
				a[i], b[i] = w&mask, w>>2&mask
			}
		} else {
			const mask = 0x1111111111111111
			a, b, c, d := dst[:words], dst[words:2*words], dst[2*words:3*words], dst[3*words:4*words]
			for i, w := range row {
				a[i], b[i], c[i], d[i] = w&mask, w>>1&mask, w>>2&mask, w>>3&mask
			}
		}
		dst = dst[SplitWords(words, width):]
	}
}

// Products sets dst[k·stride+i] to the product of row i with query k,
//
//	Σ (2·code − (2^width − 1))·whole
//
// over elements, for n rows and so many queries, with codes of 8 or 4 bits. digits are the queries,
// one after the other, as Digits has them. Elements beyond the last have the multiple 0.
//
// The sums h of the upper digits and l of the lower are exact, and the product is 256·h + l, with
// h, l and the result rounded to float32: it is the same in every tier. An error is at most 2⁻²³
// times |256·h| + |l|.
func Products(dst []float32, rows, digits []uint64, n, words, width, queries, stride int) {
	if n == 0 || queries == 0 {
		return
	}
	_ = dst[(queries-1)*stride+n-1]
	rows, digits = rows[:n*words], digits[:queries*DigitWords(words, width)]
	switch {
	case words > longest[width]:
		productsOf(dst, rows, digits, n, words, queries, stride, width)
	case tier == simd.NEON && !byteProducts && width == 8:
		longProducts8(dst, rows, digits, n, words, queries, stride)
	case tier == simd.NEON && !byteProducts:
		longProducts4(dst, rows, digits, n, words, queries, stride)
	case width == 8:
		products8(dst, rows, digits, n, words, queries, stride)
	default:
		products4(dst, rows, digits, n, words, queries, stride)
	}
}

// tierOfProducts returns the one that runs for Products and Sums.
func tierOfProducts() simd.Tier {
	if tier == simd.AVX512 && !byteProducts {
		return simd.AVX2
	}
	return tier
}

func products8Reference(dst []float32, rows, digits []uint64, n, words, queries, stride int) {
	productsOf(dst, rows, digits, n, words, queries, stride, 8)
}

func products4Reference(dst []float32, rows, digits []uint64, n, words, queries, stride int) {
	productsOf(dst, rows, digits, n, words, queries, stride, 4)
}

// longProducts8 and longProducts4 have kernels for processors without SDOT.

func longProducts8Reference(dst []float32, rows, digits []uint64, n, words, queries, stride int) {
	productsOf(dst, rows, digits, n, words, queries, stride, 8)
}

func longProducts4Reference(dst []float32, rows, digits []uint64, n, words, queries, stride int) {
	productsOf(dst, rows, digits, n, words, queries, stride, 4)
}

// productsOf is Products in pure Go.
func productsOf(dst []float32, rows, digits []uint64, n, words, queries, stride, width int) {
	length, step := DigitWords(words, width), 2*8/width*stripWords
	for i := range n {
		row := rows[i*words:][:words]
		for k := range queries {
			query := digits[k*length:][:length]
			strips := query[constantWords:]
			var high, low int64
			for w, word := range row {
				q := strips[w/stripWords*step+w%stripWords:]
				if width == 8 {
					h, l := dot(word, q[0], q[stripWords])
					high, low = high+h, low+l
					continue
				}
				const mask = 0x0f0f0f0f0f0f0f0f
				h, l := dot(word&mask, q[0], q[stripWords])
				u, v := dot(word>>4&mask, q[2*stripWords], q[3*stripWords])
				high, low = high+h+u, low+l+v
			}
			high, low = 2*high-int64(query[0]), 2*low-int64(query[1])
			dst[k*stride+i] = float32(high)*256 + float32(low)
		}
	}
}

// dot returns the products of eight codes with two vectors of digits.
func dot(codes, high, low uint64) (h, l int64) {
	for range 8 {
		c := int64(codes & 255)
		h += c * int64(int8(high))
		l += c * int64(int8(low))
		codes, high, low = codes>>8, high>>8, low>>8
	}
	return h, l
}
