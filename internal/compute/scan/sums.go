package scan

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// GroupRows is the number of rows of a group. The weights of a group are multiples of one step,
// from −Largest to Largest. The sum of a group is at most 64·255·Largest < 2³⁰. PartRows is the
// number of rows of a part of a group.
const (
	GroupRows = 64
	PartRows  = 16
)

const (
	stepWord   = 2 * GroupRows / 8
	sumWord    = stepWord + 1
	zeroWord   = sumWord + GroupRows/PartRows/2
	groupWords = zeroWord + 1
)

func WeightWords(n int) int { return (n + GroupRows - 1) / GroupRows * groupWords }

// SumPlaces returns the number of elements of a weighted sum before Collect.
func SumPlaces(words, width int) int { return (words + 3) / 4 * 32 * (8 / width) }

// Weigh rounds the weights w[i]·scales[i] of rows with codes of 8 or 4 bits, for Sums. In each
// group of 64 rows a weight becomes a multiple of a step, the largest |w[i]·scales[i]| of the group
// over Largest. The error of a weight is at most half a step. The last group may be shorter. If a
// weight is NaN or ±Inf, the step of its group and the sums over the group are NaN. A group has 16
// words with the multiples, in the layout of the kernels of the tier. One more word has the step,
// and the sum of the multiples times 2^width − 1. The other words are for PartSum and ZeroSum.
func Weigh(dst []uint64, w, scales []float32, width int) {
	dst, scales = dst[:WeightWords(len(w))], scales[:len(w)]
	odd := 1<<width - 1
	if groups := len(w) / GroupRows; groups > 0 {
		weigh(dst, w, scales, groups, odd)
		for g := range groups {
			if !usual(dst[g*groupWords:]) {
				weighAgain(dst[g*groupWords:][:groupWords], w[g*GroupRows:], scales[g*GroupRows:], odd)
			}
		}
		dst, w, scales = dst[groups*groupWords:], w[groups*GroupRows:], scales[groups*GroupRows:]
	}
	if len(w) > 0 {
		var last [2][GroupRows]float32
		copy(last[0][:], w)
		copy(last[1][:], scales)
		weigh(dst, last[0][:], last[1][:], 1, odd)
		if !usual(dst) {
			weighAgain(dst, last[0][:], last[1][:], odd)
		}
	}
}

// PartSum returns the sum of the weights of a part of the rows, and ZeroSum the sum of the weights
// times Zero of the scales over a group. The sums do not depend on the tier.
func PartSum(weights []uint64, part int) float32 {
	group, i := part/(GroupRows/PartRows)*groupWords, part%(GroupRows/PartRows)
	return math.Float32frombits(uint32(weights[group+sumWord+i/2] >> (i % 2 * 32)))
}

func ZeroSum(weights []uint64, group int) float32 {
	return math.Float32frombits(uint32(weights[group*groupWords+zeroWord]))
}

// Sums adds to dst[k·SumPlaces+p], for each place p, the sum over n rows of set k of weights times
// 2·code − (2^width − 1), with codes of 8 or 4 bits. weights are the sets in the layout of Weigh,
// of which set k begins at word k·stride. Collect finds the elements of the sums. The sum of a
// group of 64 rows is exact. The sum is rounded to float32, multiplied by the step of the group and
// added. Both operations round: the results are the same in every tier.
func Sums(dst []float32, rows, weights []uint64, n, words, width, sets, stride int) {
	if n == 0 || sets == 0 {
		return
	}
	rows, weights, dst = rows[:n*words], weights[:(sets-1)*stride+WeightWords(n)], dst[:sets*SumPlaces(words, width)]
	sums(dst, rows, weights, n, words, sets, stride, width)
}

// Collect copies the elements of a sum to dst, in ascending order.
func Collect(dst, sum []float32, words, width int) {
	blocks(words, width, func(element, word, lanes int) {
		for j := range 32 / width {
			first := element + j*lanes
			if first >= len(dst) {
				return
			}
			to, from := dst[first:min(first+lanes, len(dst))], sum[word/2*(128/width)+j*width%8/width*16+j*width/8:]
			for l := range to {
				to[l] = from[l/4*(128/width)+l%4*4]
			}
		}
	})
}

// usual reports whether the largest weight of a group is finite and has a reciprocal in float32.
func usual(group []uint64) bool {
	step := math.Float32frombits(uint32(group[stepWord]))
	return step >= 0x1p-110 && step <= math.MaxFloat32
}

func weighAgain(group []uint64, w, scales []float32, odd int) {
	var v [GroupRows]float64
	peak := 0.0
	for i := range v {
		v[i] = float64(w[i] * scales[i])
		peak = max(peak, math.Abs(v[i]))
	}
	clear(group[:sumWord])
	if peak == 0 {
		return
	}
	if math.IsInf(peak, 1) {
		peak = math.NaN()
	}
	sum := 0
	if peak == peak {
		for i, x := range v {
			whole := int16(math.RoundToEven(x / peak * Largest))
			sum += int(whole)
			putWeight(group, i, whole)
		}
	}
	group[stepWord] = uint64(math.Float32bits(float32(peak/Largest))) | uint64(uint32(odd*sum))<<32
}

// putWeight writes two digits for AVX-512, and an integer of 16 bits otherwise.
func putWeight(group []uint64, i int, whole int16) {
	if tierOfProducts() == simd.AVX512 {
		low := int8(whole)
		high := (int(whole) - int(low)) >> 8
		group[i/8] |= uint64(uint8(high)) << (i % 8 * 8)
		group[GroupRows/8+i/8] |= uint64(uint8(low)) << (i % 8 * 8)
		return
	}
	group[i/4] |= uint64(uint16(whole)) << (i % 4 * 16)
}

func weighReference(dst []uint64, w, scales []float32, groups, odd int) {
	for g := range groups {
		group, w, scales := dst[g*groupWords:][:groupWords], w[g*GroupRows:][:GroupRows], scales[g*GroupRows:][:GroupRows]
		var v, zeros [GroupRows]float32
		for i := range v {
			v[i], zeros[i] = w[i], w[i]*Zero(scales[i])
		}
		clear(group)
		for i := range GroupRows / PartRows {
			group[sumWord+i/2] |= uint64(math.Float32bits(fold(v[i*PartRows:][:PartRows]))) << (i % 2 * 32)
		}
		group[zeroWord] = uint64(math.Float32bits(fold(zeros[:])))
		var peak uint32 // bits, which have the order of magnitudes; the bits of NaN are the largest
		for i := range v {
			v[i] = w[i] * scales[i]
			peak = max(peak, math.Float32bits(v[i])&^(1<<31))
		}
		perStep := Largest / math.Float32frombits(peak)
		sum := 0
		for i, x := range v {
			whole := int16(math.RoundToEven(float64(x * perStep)))
			sum += int(whole)
			putWeight(group, i, whole)
		}
		step := math.Float32frombits(peak) / Largest
		group[stepWord] = uint64(math.Float32bits(step)) | uint64(uint32(odd*sum))<<32
	}
}

// fold returns the sum of v in the order of kernels, which add the second half of the elements to
// the first until one element is left.
func fold(v []float32) float32 {
	for h := len(v) / 2; h > 0; h /= 2 {
		for i := range h {
			v[i] += v[i+h]
		}
	}
	return v[0]
}

func sumsReference(dst []float32, rows, weights []uint64, n, words, sets, stride, width int) {
	for first := 0; first < n; first += GroupRows {
		for k := range sets {
			group := weights[k*stride+first/GroupRows*groupWords:][:groupWords]
			step, constant := math.Float32frombits(uint32(group[stepWord])), int32(group[stepWord]>>32)
			for w := range words {
				var total [2][8]int32 // of the codes in the lower and in the upper bits
				for i := first; i < min(n, first+GroupRows); i++ {
					whole := int32(int16(group[(i-first)/4] >> ((i - first) % 4 * 16)))
					word := rows[i*words+w]
					for b := range 8 {
						c := int32(word & 255)
						if width == 4 {
							total[1][b] += whole * (c >> 4)
							c &= 15
						}
						total[0][b] += whole * c
						word >>= 8
					}
				}
				for part := range 8 / width {
					to := dst[k*SumPlaces(words, width)+w/2*(128/width)+part*16+w%2*8:][:8]
					for b := range to {
						to[b] += float32(float32(2*total[part][b]-constant) * step)
					}
				}
			}
		}
	}
}
