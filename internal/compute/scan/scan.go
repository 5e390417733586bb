// Package scan multiplies a vector by rows of packed codes of 1, 2, 4, 5, 6 or 8 bits.
//
// # Users
//
// Packages quantise and performer/internal/caches store codes in the rows of this package, round
// queries with Round and multiply with Products. They round rows differently: quantise to cells that
// the law of a random rotation gives for all rows, caches to the range of each row. Package bytedot
// has other codes, because both of its operands are codes of one call: signed bytes in the order of
// the instructions for products of bytes, which no kernel unpacks.
//
// # Layout
//
// A row is a sequence of 64-bit words in blocks of 8 words. The last block may be shorter. A block
// of w words has 2w lanes of 32 bits, the lower half of a word first. Code j of lane l of a block,
// counted from the lowest bits, is the code of element j·2w + l of the block: adjacent elements
// have their codes in adjacent lanes. Elements beyond the end have code 0. Rows with codes of 5 or
// 6 bits have the order of Widen.
//
// A query is arranged in the order in which kernels read its elements: its digits are bytes in the
// order of the codes.
//
// # Caches of keys and values
//
// Keys and values are rows of codes of 4, 5, 6 or 8 bits with scales. The scores of queries are the
// results of Products times the scales and the steps of Round:
//
//	step := Round(whole, query)
//	Digits(digits, whole, words, width)
//	Products(scores, rows, digits, n, words, width, 1, n) // Σ (2·code − (2^width − 1))·whole
//
// Weighted sums are the results of Sums, with weights that Weigh has multiplied by the scales:
//
//	Weigh(weights, w, scales, width)
//	Sums(sums, rows, weights, n, words, width, 1, WeightWords(n))
//	Collect(dst, sums, words, width)
//
// Rows with codes of 5 or 6 bits become rows of Widen, with codes of 8 bits, before Products and
// Sums. Digits and Weigh take the width of the codes.
//
// Rows may lie in several slices, with a call for each slice: Sums adds to earlier sums. The bits
// are those of one call for all rows if every slice but the last has a multiple of GroupRows rows.
// A call with several queries, or several sets of weights, reads the rows once.
//
// # Results
//
// Results are the same in every tier. Signs is exact up to 2²⁴, and all other sums are sums of
// integers. Only NewTable allocates memory.
package scan

import (
	"math/bits"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

const (
	blockWords = 8

	// Planes is the number of bits of a weight of Signs: weights go from −MaxWeight to MaxWeight.
	Planes    = 6
	MaxWeight = 1<<(Planes-1) - 1
)

// Words returns the number of words of a row of n ≥ 1 codes of width bits.
func Words(n, width int) int {
	if width == 5 || width == 6 {
		return narrowWords(Words(n, 8), width)
	}
	return n/64*width + (n%64*width+63)/64
}

// PlaneWords returns the number of words of planes for rows of so many words.
func PlaneWords(words int) int { return (words + blockWords - 1) / blockWords * blockWords * Planes }

// blocks calls f for each block of n elements: the index of its first element, its first word, its
// lanes.
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

// packBlock is Pack for all codes of a block.
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

// Unpack reads the codes of a row.
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

// Slice writes the bits of weights between −MaxWeight and MaxWeight into planes: for each block of
// 8 words, 8 words with the lowest bits, 8 with the next, and so on. row is space for a row.
func Slice(planes []uint64, weights []int8, bit []uint8, row []uint64) {
	clear(planes)
	bit = bit[:len(weights)]
	for b := range Planes {
		for i, w := range weights {
			bit[i] = uint8(w) >> b & 1
		}
		Pack(row, bit, 1)
		for w, v := range row {
			planes[w/blockWords*blockWords*Planes+b*blockWords+w%blockWords] = v
		}
	}
}

// Signs sets dst[i] to the sum of the weights of the elements whose code of 1 bit in row i is 1.
// The sum is exact up to 2²⁴. planes are the weights in the layout of Slice.
func Signs(dst []float32, rows, planes []uint64, words int) {
	rows, planes = rows[:len(dst)*words], planes[:PlaneWords(words)]
	if len(dst) > 0 {
		signs(dst, rows, planes, words)
	}
}

// tier is the tier that runs. counts reports whether its AVX-512 kernel may count bits with
// VPOPCNTQ, byteProducts whether its kernels may multiply bytes, and bytePermutes whether its
// AVX-512 kernel may look up bytes with VPERMI2B.
var (
	tier         = simd.Best
	counts       = simd.VPOPCNTDQ
	byteProducts = simd.ByteProducts
	bytePermutes = simd.VBMI
)

// tierOfSigns returns the tier that runs Signs.
func tierOfSigns() simd.Tier {
	if tier == simd.AVX512 && !counts {
		return simd.AVX2
	}
	return tier
}

func signsReference(dst []float32, rows, planes []uint64, words int) {
	for i := range dst {
		sum := 0
		for w, r := range rows[i*words:][:words] {
			p := planes[w/blockWords*blockWords*Planes+w%blockWords:]
			for b := range Planes - 1 {
				sum += bits.OnesCount64(r&p[b*blockWords]) << b
			}
			sum -= bits.OnesCount64(r&p[(Planes-1)*blockWords]) << (Planes - 1)
		}
		dst[i] = float32(sum)
	}
}
