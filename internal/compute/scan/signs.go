package scan

import "math"

// A group of signs holds codes of 1 bit of GroupRows rows, and a factor for each row. Byte 2i of
// plane p has the signs of the elements 8p to 8p + 7 of row i, the first in the lowest bit, and
// byte 2i + 1 those of row i + 32: the sums of the even and of the odd bytes are in the order of
// the rows. A bit is 1 for a positive element. The factors follow the planes, and are rounded to
// bfloat16, the upper half of a float32.
const (
	planeWords  = GroupRows / 8
	factorWords = GroupRows / 4
	planeTables = 4 // words: two tables of 16 bytes

	// largestEntry is the largest entry of a table of signs: two entries fit in a byte.
	largestEntry = 127

	// longestSigns is the largest number of planes whose entries have a sum below 2¹⁶.
	longestSigns = 1 << 16 / (2*largestEntry + 1)
)

func planes(n int) int { return (n + 7) / 8 }

func SignWords(n int) int { return planes(n)*planeWords + factorWords }

func SignTableWords(n int) int { return planes(n) * planeTables }

// PutSigns writes the signs of x and a factor to row i of a group that was cleared.
func PutSigns(group []uint64, i int, x []float64, factor float32) {
	at := 2*(i%32) + i/32
	for l, v := range x {
		if v > 0 {
			group[l/8*planeWords+at/8] |= 1 << (at%8*8 + l%8)
		}
	}
	bits := math.Float32bits(factor)
	if factor == factor {
		bits += 1<<15 - 1 + bits>>16&1 // to nearest, ties to even
	}
	group[planes(len(x))*planeWords+i/4] |= uint64(bits>>16) << (i % 4 * 16)
}

// SignTables writes the tables of a query. The entries of a table are the sums of four elements
// with all signs, less the least of them, in multiples of a step. The sum of the entries of a row
// times the step, plus offset, is the product of the query with the signs. A query with NaN or ±Inf
// has a step of NaN.
func SignTables[T float32 | float64](tables []uint64, x []T) (step, offset float64) {
	tables = tables[:SignTableWords(len(x))]
	clear(tables)
	for at := 0; at < len(x); at += 4 {
		size := 0.0
		for _, v := range x[at:min(at+4, len(x))] {
			size += math.Abs(float64(v))
		}
		step, offset = max(step, 2*size/largestEntry), offset-size
	}
	if step == 0 || step-step != 0 {
		return step - step, offset
	}
	const magic = 3 << 51 // a float64 of this size has no fraction
	perStep := 2 / step
	for at := 0; at < len(x); at += 4 {
		var sums [16]float64
		for l, v := range x[at:min(at+4, len(x))] {
			size, bit := math.Abs(float64(v)), 1<<l
			for code := range 1 << l { // the codes of the elements before
				if v > 0 {
					sums[code+bit] = sums[code] + size
				} else {
					sums[code+bit], sums[code] = sums[code], sums[code]+size
				}
			}
		}
		for code, sum := range sums {
			entry := math.Float64bits(float64(sum*perStep) + magic)
			tables[at/4*2+code/8] |= entry & 255 << (code % 8 * 8)
		}
	}
	return step, offset
}

// SignScores sets dst, for whole groups of rows of n elements, to
//
//	dst[i] = factor_i·(step·sum_i + offset) + means[i/GroupRows]
//
// with the sums of the entries that the signs of row i choose. Each product and each sum rounds:
// results are the same in every tier.
func SignScores(dst []float32, groups, tables []uint64, means []float32, n int, step, offset float32) {
	count := len(dst) / GroupRows
	if count == 0 {
		return
	}
	groups, tables, means = groups[:count*SignWords(n)], tables[:SignTableWords(n)], means[:count]
	if planes(n) > longestSigns {
		signScoresReference(dst, groups, tables, means, planes(n), count, step, offset)
	} else {
		signScores(dst, groups, tables, means, planes(n), count, step, offset)
	}
}

func signScoresReference(dst []float32, groups, tables []uint64, means []float32, planes, count int, step, offset float32) {
	words := planes*planeWords + factorWords
	for g, mean := range means[:count] {
		var sums [GroupRows]int
		group := groups[g*words:][:words]
		for p := range planes {
			low, high := tables[p*planeTables:][:2], tables[p*planeTables+2:][:2]
			for w, word := range group[p*planeWords:][:planeWords] {
				for b := range 8 {
					code := word >> (8 * b)
					at := 8*w + b
					sums[at/2+at%2*32] += int(low[code>>3&1]>>(code&7*8)&255) + int(high[code>>7&1]>>(code>>4&7*8)&255)
				}
			}
		}
		factors := group[planes*planeWords:]
		for i, sum := range sums {
			factor := math.Float32frombits(uint32(factors[i/4]>>(i%4*16)) << 16)
			dst[g*GroupRows+i] = float32(factor*(float32(step*float32(sum))+offset)) + mean
		}
	}
}
