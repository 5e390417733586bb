// Package scan multiplies a vector by rows of packed codes of 1, 2, 4 or 8 bits. A row is a
// sequence of 64-bit words in blocks of 8 words, of which the last may be shorter. A block of w
// words has 2w lanes of 32 bits, the lower half of a word first. Code j of lane l of a block,
// counted from the lowest bits, is the code of element j·2w + l of the block. Elements beyond the
// end have code 0. The digits of a query are bytes in the order of the codes. Keys and values are
// rows of codes of 4 or 8 bits with scales. Scores are products times the scales and the step of
// the query, and weighted sums are those of Sums:
//
//	step := Round(whole, query, width)
//	Digits(digits, whole, words, width)
//	Products(scores, rows, digits, n, words, width, 1, n) // Σ (2·code − (2^width − 1))·whole
//	Weigh(weights, w, scales, width)
//	Sums(sums, rows, weights, n, words, width, 1, WeightWords(n))
//	Collect(dst, sums, words, width)
//
// Rows may lie in several slices, with a call for each slice: Sums adds to earlier sums. The bits
// are those of one call if every slice but the last has a multiple of GroupRows rows. Keys and
// values of 3 bits are groups of 64 rows, which WidenThree writes as rows of 4 bits.
//
// Codes of 1 bit have two kernels. Products reads rows one by one: a search adds and removes single
// rows, looks at listed rows, and compares several queries with rows that it reads once. A stream
// closes 64 rows together, and one query reads all of them in order. So SignScores reads the signs
// of 64 rows coordinate by coordinate, and looks up the sums of four elements of the query in
// tables in registers: 0.33 ns a row at d = 64 and 2.79 at d = 768, for 1.97 and 7.27 of Products.
// All sums are sums of integers, so that results are the same in every tier.
package scan

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

const blockWords = 8

// Words returns the number of words of a row of n ≥ 1 codes of width bits.
func Words(n, width int) int {
	return n/64*width + (n%64*width+63)/64
}

func blocks(words, width int, f func(element, word, lanes int)) {
	for w, element := 0, 0; w < words; w += blockWords {
		l := 2 * min(blockWords, words-w)
		f(element, w, l)
		element += l * (32 / width)
	}
}

// Pack writes codes below 1<<width into a row of Words(len(codes), width) words.
func Pack(row []uint64, codes []uint8, width int) {
	clear(row)
	blocks(len(row), width, func(element, word, lanes int) {
		if end := element + lanes*(32/width); end <= len(codes) {
			packBlock(row[word:word+lanes/2], codes[element:end], width)
			return
		}
		for j := range 32 / width {
			first := element + j*lanes
			if first >= len(codes) {
				return
			}
			part := codes[first:min(first+lanes, len(codes))]
			shift := j * width
			for l, c := range part {
				row[word+l/2] |= uint64(c) << (shift + l%2*32)
			}
		}
	})
}

func packBlock(block []uint64, codes []uint8, width int) {
	lanes := 2 * len(block)
	for w := range block {
		var word uint64
		for shift, l := 0, 2*w; shift < 32; shift, l = shift+width, l+lanes {
			word |= (uint64(codes[l]) | uint64(codes[l+1])<<32) << shift
		}
		block[w] = word
	}
}

func Unpack(codes []uint8, row []uint64, width int) {
	mask := uint64(1)<<width - 1
	blocks(len(row), width, func(element, word, lanes int) {
		for j := range 32 / width {
			first := element + j*lanes
			if first >= len(codes) {
				return
			}
			part := codes[first:min(first+lanes, len(codes))]
			shift := j * width
			for l := range part {
				part[l] = uint8(row[word+l/2] >> (shift + l%2*32) & mask)
			}
		}
	})
}

// tier is the tier that runs. byteProducts reports whether its kernels may multiply bytes.
var (
	tier         = simd.Best
	byteProducts = simd.ByteProducts
)
