package scan

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// Largest is the largest integer of a query for codes of 4 and 8 bits. A query is rounded to
// multiples of a step, from −Largest to Largest, and a code c of b bits stands for the odd number
// 2c − (2^b − 1). The integer Largest has the two digits 127.
const Largest = 127 * 257

// LargestOf returns the largest integer of a query. Queries for codes of 1 and 2 bits have one
// digit, because the errors of the codes are much larger than the error of the rounding.
func LargestOf(width int) int {
	if digitsEach(width) == 1 {
		return math.MaxInt8
	}
	return Largest
}

const (
	stripWords    = 2
	constantWords = 4
)

// longest is the largest number of words of a row whose sums of products fit in 32 bits, by width.
// The odd number of a code is at most 255, or 15 for 4 or fewer bits: sums over 2¹⁶ elements are
// below 255·128·2¹⁶ < 2³¹, and sums over 2²⁰ below 15·128·2²⁰ < 2³¹.
var longest = [9]int{1: 1 << 20 / 64, 2: 1 << 20 / 32, 4: 1 << 20 / 16, 8: 1 << 16 / 8}

// Round sets whole[i] to x[i]/step, rounded, and returns the step, the largest |x[i]| over
// LargestOf(width). The step is 0 if x is zero. If x has NaN or ±Inf, the step is NaN and whole is
// zero.
func Round[T float32 | float64](whole []int16, x []T, width int) (step float64) {
	peak, largest := Magnitude(x), float64(LargestOf(width))
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
		whole[i] = int16(math.RoundToEven(float64(v) / peak * largest))
	}
	return peak / largest
}

// Magnitude returns the largest |x[i]|, or NaN if x has NaN. The bits of non-negative numbers
// ascend with the numbers.
func Magnitude[T float32 | float64](x []T) float64 {
	switch x := any(x).(type) {
	case []float32:
		var top uint32
		for _, v := range x {
			top = max(top, math.Float32bits(v)&^(1<<31))
		}
		return float64(math.Float32frombits(top))
	case []float64:
		var top uint64
		for _, v := range x {
			top = max(top, math.Float64bits(v)&^(1<<63))
		}
		return math.Float64frombits(top)
	}
	return 0
}

// DigitWords returns the number of words of a query in the layout of Digits.
func DigitWords(words, width int) int {
	return constantWords + (words+stripWords-1)/stripWords*stripWords*digits(width)
}

func digits(width int) int { return digitsEach(width) * 8 / width }

func digitsEach(width int) int { return min(2, (width+1)/2) }

// Digits arranges a query for rows of so many words, with codes of 8, 4, 2 or 1 bits. dst begins
// with 4 constants of Products. For each 2 words of a row follow 2 words with the upper digits,
// from −128 to 127, of the codes in the lowest bits of each byte, and 2 words with the lower
// digits. Words for the next bits of each byte follow. Codes of 1 and 2 bits have no upper digits.
func Digits(dst []uint64, whole []int16, words, width int) {
	dst = dst[:DigitWords(words, width)]
	clear(dst)
	strips := dst[constantWords:]
	var sum [2]int64
	perByte, each := digits(width), digitsEach(width)
	places(len(whole), words, width, func(i, at, part int) {
		low := int8(whole[i])
		high := (int(whole[i]) - int(low)) >> 8
		sum[0] += int64(high)
		sum[1] += int64(low)
		word, bit := (at/(8*stripWords)*perByte+each*part)*stripWords+at/8%stripWords, at%8*8
		if each == 2 {
			strips[word] |= uint64(uint8(high)) << bit
			word += stripWords
		}
		strips[word] |= uint64(uint8(low)) << bit
	})
	for i, s := range sum {
		dst[i] = uint64(s * (1<<width - 1))
		dst[2+i] = uint64(-s)
	}
}

// places calls f for each of n elements of rows of so many words, with the index of the byte of the
// code and the number of codes in lower bits of the byte.
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

// Products sets dst[k·stride+i] to the product Σ (2·code − (2^width − 1))·whole over the elements
// of row i and query k, for n rows and so many queries, with codes of 8, 4, 2 or 1 bits. digits are
// the queries, one after another, in the layout of Digits. The sums h over the upper digits and l
// over the lower digits are exact. The result is 256·h + l, where h, l and the addition are rounded
// to float32: it is the same in every tier. The error is at most 2⁻²³ times |256·h| + |l|. For
// codes of 1 and 2 bits the result is l.
func Products(dst []float32, rows, digits []uint64, n, words, width, queries, stride int) {
	if n == 0 || queries == 0 {
		return
	}
	_ = dst[(queries-1)*stride+n-1]
	rows, digits = rows[:n*words], digits[:queries*DigitWords(words, width)]
	if words > longest[width] {
		productsReference(dst, rows, digits, n, words, queries, stride, width)
	} else {
		products(dst, rows, digits, n, words, queries, stride, width)
	}
}

func tierOfProducts() simd.Tier {
	if tier == simd.AVX512 && !byteProducts {
		return simd.AVX2
	}
	return tier
}

func productsReference(dst []float32, rows, digits []uint64, n, words, queries, stride, width int) {
	length, each := DigitWords(words, width), digitsEach(width)
	mask := uint64(1<<width-1) * 0x0101010101010101
	for i := range n {
		row := rows[i*words:][:words]
		for k := range queries {
			query := digits[k*length:][:length]
			strips := query[constantWords:]
			var high, low int64
			for w, word := range row {
				q := strips[w/stripWords*each*8/width*stripWords+w%stripWords:]
				for part := range 8 / width {
					h, l := dot(word>>(part*width)&mask, q[each*part*stripWords], q[(each*(part+1)-1)*stripWords])
					high, low = high+h, low+l
				}
			}
			if high, low = 2*high-int64(query[0]), 2*low-int64(query[1]); each == 1 {
				high = 0
			}
			dst[k*stride+i] = float32(high)*256 + float32(low)
		}
	}
}

func dot(codes, high, low uint64) (h, l int64) {
	for range 8 {
		c := int64(codes & 255)
		h += c * int64(int8(high))
		l += c * int64(int8(low))
		codes, high, low = codes>>8, high>>8, low>>8
	}
	return h, l
}
