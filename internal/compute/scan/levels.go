package scan

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// longestLevels is the largest number of words of a row whose sums of products fit in 32 bits. A
// level is 256·h + l with odd numbers h and l up to 255. The sums over 2¹⁵ elements of both digits
// times both digits of a query are below 2·255·128·2¹⁵ < 2³¹.
const longestLevels = 1 << 15 / 8

// Table holds the levels of codes of 8 bits in the layout of kernels: the upper bytes of
// (65535 + level)/2 for the codes below 128, and then the lower bytes. The bytes of the other codes
// are the complements of these bytes, in the opposite order.
type Table [2 * 128 / 8]uint64

// NewTable returns the table for odd levels of the codes from 128 on.
func NewTable(levels *[128]uint16) *Table {
	t := new(Table)
	for j, level := range levels {
		half, at := (65535-int(level))/2, 127-j
		t[at/8] |= uint64(half>>8) << (at % 8 * 8)
		t[len(t)/2+at/8] |= uint64(half&255) << (at % 8 * 8)
	}
	return t
}

// digits returns the odd numbers h and l of a code, for which its level is 256·h + l.
func (t *Table) digits(code uint64) (h, l int64) {
	at, sign := code, int64(1)
	if code >= 128 {
		at, sign = 255-code, -1
	}
	high, low := t[at/8]>>(at%8*8)&255, t[len(t)/2+int(at/8)]>>(at%8*8)&255
	return sign * (2*int64(high) - 255), sign * (2*int64(low) - 255)
}

// LevelProducts is Products for codes of 8 bits with the levels of a table. Levels are odd numbers
// below 2¹⁶, and the levels of the codes c and 255 − c are opposite:
//
//	dst[k·stride+i] = Σ level·whole
//
// The sums a, b and c of products of digits are exact. The result is 256·(256·a + b) + c, where a,
// b, c and both additions are rounded to float32: it is the same in every tier. The error is at
// most 2⁻²² times |2¹⁶·a| + |2⁸·b| + |c|.
func LevelProducts(dst []float32, rows []uint64, table *Table, digits []uint64, n, words, queries, stride int) {
	if n == 0 || queries == 0 {
		return
	}
	_ = dst[(queries-1)*stride+n-1]
	rows, digits = rows[:n*words], digits[:queries*DigitWords(words, 8)]
	if words > longestLevels {
		levelProductsReference(dst, rows, table[:], digits, n, words, queries, stride)
	} else {
		levelProducts(dst, rows, table[:], digits, n, words, queries, stride)
	}
}

// tierOfLevels returns the tier that runs LevelProducts.
func tierOfLevels() simd.Tier {
	if t := tierOfProducts(); t != simd.AVX512 || bytePermutes {
		return t
	}
	return simd.AVX2
}

func levelProductsReference(dst []float32, rows, table, digits []uint64, n, words, queries, stride int) {
	length, levels := DigitWords(words, 8), (*Table)(table)
	for i := range n {
		row := rows[i*words:][:words]
		for k := range queries {
			strips := digits[k*length:][constantWords:length]
			var a, b, c int64
			for w, codes := range row {
				q := strips[w/stripWords*2*stripWords+w%stripWords:]
				high, low := q[0], q[stripWords]
				for range 8 {
					h, l := levels.digits(codes & 255)
					qh, ql := int64(int8(high)), int64(int8(low))
					a, b, c = a+h*qh, b+h*ql+l*qh, c+l*ql
					codes, high, low = codes>>8, high>>8, low>>8
				}
			}
			dst[k*stride+i] = (float32(a)*256+float32(b))*256 + float32(c)
		}
	}
}
