package scan

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// longestLevels is the largest number of elements of a row whose sums of products fit in 32 bits. A
// level is 256·h + l with odd numbers h and l up to 255. The sums over 2¹⁵ elements of both digits
// times both digits of a query are below 2·255·128·2¹⁵ < 2³¹.
const longestLevels = 1 << 15

// Table holds the levels of codes of 8, 4 or 2 bits in the layout of kernels: the upper bytes of
// (65535 + level)/2, and then the lower bytes. Codes of 8 bits have these bytes for the codes below
// 128. The bytes of the other codes are the complements, in the opposite order. Shorter codes have
// 16 upper and 16 lower bytes.
type Table [2 * 128 / 8]uint64

// NewTable returns the table of the odd levels of all codes, from −65535 to 65535. With 256 codes,
// the levels of the codes c and 255 − c are opposite.
func NewTable(levels []int) *Table {
	t := new(Table)
	for c, level := range levels[:min(len(levels), 128)] {
		half := (65535 + level) / 2
		t[c/8] |= uint64(half>>8) << (c % 8 * 8)
		t[tableWords(len(levels))+c/8] |= uint64(half&255) << (c % 8 * 8)
	}
	return t
}

// tableWords returns the number of words of the upper bytes of a number of codes.
func tableWords(codes int) int {
	if codes == 256 {
		return 128 / 8
	}
	return 16 / 8
}

// digits returns the odd numbers h and l of a code, for which its level is 256·h + l.
func (t *Table) digits(code uint64, width int) (h, l int64) {
	at, sign := code, int64(1)
	if code >= 128 {
		at, sign = 255-code, -1
	}
	high, low := t[at/8]>>(at%8*8)&255, t[tableWords(1<<width)+int(at/8)]>>(at%8*8)&255
	return sign * (2*int64(high) - 255), sign * (2*int64(low) - 255)
}

// LevelProducts is Products for codes of 8, 4 or 2 bits with the levels of a table:
//
//	dst[k·stride+i] = Σ level·whole
//
// The sums a, b and c of products of digits are exact, and a is 0 for codes of 2 bits. The result
// is 256·(256·a + b) + c, where a, b, c and both additions are rounded to float32: it is the same
// in every tier. The error is at most 2⁻²² times |2¹⁶·a| + |2⁸·b| + |c|.
func LevelProducts(dst []float32, rows []uint64, table *Table, digits []uint64, n, words, width, queries, stride int) {
	if n == 0 || queries == 0 {
		return
	}
	_ = dst[(queries-1)*stride+n-1]
	rows, digits = rows[:n*words], digits[:queries*DigitWords(words, width)]
	if words*64/width > longestLevels {
		levelProductsReference(dst, rows, table[:], digits, n, words, queries, stride, width)
	} else {
		levelProducts(dst, rows, table[:], digits, n, words, queries, stride, width)
	}
}

// tierOfLevels returns the tier that runs LevelProducts.
func tierOfLevels() simd.Tier {
	if t := tierOfProducts(); t != simd.AVX512 || bytePermutes {
		return t
	}
	return simd.AVX2
}

func levelProductsReference(dst []float32, rows, table, digits []uint64, n, words, queries, stride, width int) {
	length, levels, mask := DigitWords(words, width), (*Table)(table), uint64(1)<<width-1
	each := digitsEach(width)
	for i := range n {
		row := rows[i*words:][:words]
		for k := range queries {
			strips := digits[k*length:][constantWords:length]
			var a, b, c int64
			for w, codes := range row {
				q := strips[w/stripWords*each*8/width*stripWords+w%stripWords:]
				for j := range 64 / width {
					part, shift := each*(j%(8/width))*stripWords, j/(8/width)*8
					h, l := levels.digits(codes&mask, width)
					qh, ql := int64(int8(q[part]>>shift)), int64(int8(q[part+(each-1)*stripWords]>>shift))
					if each == 1 {
						qh = 0
					}
					a, b, c = a+h*qh, b+h*ql+l*qh, c+l*ql
					codes >>= width
				}
			}
			dst[k*stride+i] = (float32(a)*256+float32(b))*256 + float32(c)
		}
	}
}
