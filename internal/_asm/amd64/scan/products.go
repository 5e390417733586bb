package scan

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// The layout of digits of package scan: four words of constants, and then, for every 16 bytes of a
// row, a strip of 16 bytes for each digit of the codes in a byte.
const (
	stripBytes    = 16
	constantBytes = 32
	highConstant  = 0
	lowConstant   = 8
)

const (
	productsSignature = "(dst *float32, rows, digits *uint64, n, words, queries, stride int)"
	productsDoc       = "sets dst[k·stride+i] to the product of row i with query k, as the reference does."
)

func queryBytes(digits int) GPVirtual {
	bytes := amd64.Argument("words")
	INCQ(bytes)
	SHRQ(U8(1), bytes)
	IMUL3Q(U32(digits*stripBytes), bytes, bytes)
	ADDQ(U32(constantBytes), bytes)
	return bytes
}

// number returns a vector of float32 or integers of 32 bits.
func number(v VecVirtual, bits uint32) VecVirtual {
	b := GP64()
	MOVQ(U32(bits), b)
	VMOVD(b.As32(), v.AsX())
	VPBROADCASTD(v.AsX(), v)
	return v
}

// productConstants are what sums over the digits of a query subtract: one digit for short codes.
func productConstants(width int) [][]int {
	if width <= 2 {
		return [][]int{{lowConstant}}
	}
	return [][]int{{highConstant}, {lowConstant}}
}

// The result of splitter returns the codes of the same places of all bytes, lowest bits first.
func splitter(width int, vec func() VecVirtual) func(codes VecVirtual) []VecVirtual {
	if width == 8 {
		return func(codes VecVirtual) []VecVirtual { return []VecVirtual{codes} }
	}
	mask := number(vec(), uint32(1<<width-1)*0x01010101)
	and := func(a, b, to Op) { VPAND(a, b, to) }
	if mask.Size() == 64 {
		and = func(a, b, to Op) { VPANDD(a, b, to) }
	}
	return func(codes VecVirtual) []VecVirtual {
		parts := make([]VecVirtual, 8/width)
		for p := range parts {
			parts[p] = vec()
			if p == 0 {
				and(mask, codes, parts[p])
				continue
			}
			VPSRLW(U8(p*width), codes, parts[p])
			and(mask, parts[p], parts[p])
		}
		return parts
	}
}

// productsWide transposes strips of 16 rows, one for each lane, so that no lanes have to be added.
func productsWide(width int) {
	const height = 16
	constants := productConstants(width)
	strips := len(constants) * 8 / width // of digits, for a strip of a row
	begin(fmt.Sprintf("products%dAVX512", width), productsSignature, productsDoc+" It needs VNNI.")
	split := splitter(width, ZMM)
	t := newTile(height)
	left, bytes := AllocLocal(8), queryBytes(strips)
	zero, power := ZMM(), number(ZMM(), math.Float32bits(256))
	VPXORD(zero, zero, zero)
	rows := []VecVirtual{ZMM(), ZMM(), ZMM(), ZMM()}
	// K7 is the mask of the lanes to store.
	count, lanes := GP64(), GP64()
	MOVQ(t.count, count)
	MOVQ(I32(-1), lanes)
	BZHIQ(count, lanes, lanes)
	KMOVW(lanes.As32(), K7)
	// present are the masks of the doublewords of a strip, of rows i, i+4, i+8 and i+12.
	present := []Register{K1, K2, K3, K4}
	mask := func(ones uint32) {
		bits := GP64()
		for i, k := range present {
			MOVQ(U32(ones<<(4*i)), bits)
			KMOVW(bits.As32(), k)
		}
	}
	mask(15)
	t.loop(func() {
		query, to := amd64.Argument("digits"), GP64()
		MOVQ(amd64.Argument("queries"), to)
		MOVQ(to, left)
		MOVQ(t.dst, to)
		for _, batch := range []int{4, 2, 1} { // queries that share a transposition
			label := fmt.Sprintf("queries%d", batch)
			SUBQ(U32(batch), left)
			JLT(LabelRef(label + "End"))
			Label(label)
			// Additions to one register would wait for each other: each query has several.
			each := len(constants)
			sums := make([][]VecVirtual, 4/batch)
			for c := range sums {
				sums[c] = make([]VecVirtual, each*batch)
				for i := range sums[c] {
					sums[c][i] = ZMM()
					VMOVDQA64(zero, sums[c][i])
				}
			}
			var thrice Register
			if batch == 4 {
				thrice = amd64.Triple(bytes)
			}
			digits := func(k, offset int) Mem { return amd64.Row(k, query, bytes, thrice).Offset(offset) }
			from := []GPVirtual{GP64(), GP64(), GP64(), GP64()}
			MOVQ(t.rows, from[0])
			for i := 1; i < 4; i++ {
				LEAQ(Mem{Base: from[i-1], Index: t.stride, Scale: 4}, from[i])
			}
			fetch, pieces := GP64(), amd64.Argument("words")
			LEAQ(at(from[0], ahead), fetch)
			SHRQ(U8(1), pieces)
			JZ(LabelRef(label + "Last"))
			Label(label + "Strip")
			for i, row := range rows {
				VMOVDQU32_Z(t.row(from[0], i), present[0], row.AsX())
				for j := 1; j < 4; j++ {
					VBROADCASTI32X4(t.row(from[j], i), present[j], row)
				}
			}
			for line := range height * stripBytes / 64 {
				PREFETCHT0(at(fetch, 64*line))
			}
			done := 0
			for d, codes := range transposeDoubles(rows) {
				for i, part := range split(codes) {
					sum := sums[done%len(sums)]
					done++
					for k := range batch {
						for g := range each {
							amd64.PlusBytes(digits(k, constantBytes+(each*i+g)*stripBytes+4*d), part, sum[each*k+g])
						}
					}
				}
			}
			for _, f := range from {
				ADDQ(U8(stripBytes), f)
			}
			ADDQ(U32(height*stripBytes), fetch)
			ADDQ(U32(strips*stripBytes), query)
			DECQ(pieces)
			JG(LabelRef(label + "Strip"))
			JL(LabelRef(label + "Masked"))
			Label(label + "Last")
			words := amd64.Argument("words")
			TESTQ(U32(1), words)
			JZ(LabelRef(label + "Sum"))
			mask(3)
			JMP(LabelRef(label + "Strip"))
			Label(label + "Masked")
			mask(15)
			Label(label + "Sum")
			// Back to the constants.
			ADDQ(U32(constantBytes), query)
			SUBQ(bytes, query)
			for c := len(sums) / 2; c > 0; c /= 2 {
				for i, v := range sums[:c] {
					for j := range v {
						VPADDD(sums[c+i][j], v[j], v[j])
					}
				}
			}
			stride := amd64.Argument("stride")
			for k := range batch {
				total := horner(sums[0][each*k:][:each], constants, power, func(c int, v VecVirtual) {
					VPSUBD_BCST(digits(k, c), v, v)
				})
				VMOVUPS(total, K7, at(to, 0))
				LEAQ(Mem{Base: to, Index: stride, Scale: 4}, to)
			}
			for range batch {
				ADDQ(bytes, query)
			}
			SUBQ(U32(batch), left)
			JGE(LabelRef(label))
			Label(label + "End")
			ADDQ(U32(batch), left)
		}
	})
}

// transposeDoubles returns vectors with a doubleword of each row. The rows i, i+4, i+8 and i+12
// come as a vector of 16 bytes each.
func transposeDoubles(rows []VecVirtual) []VecVirtual {
	return unpacked(rows, ZMM, [2][2]func(ops ...Op){{VPUNPCKLDQ, VPUNPCKHDQ}, {VPUNPCKLQDQ, VPUNPCKHQDQ}})
}

// productsNarrow sums the products of four rows and a query, and then the lanes. Codes and digits
// of 8 bits become integers of 16, whose products VPMADDWD adds in 32 bits. For shorter codes
// VPMADDUBSW adds two products of a code and a digit, and these sums of all codes of a byte are
// added: at most 4·15·128 < 2¹⁵. The lower half of a register has the upper digits then.
func productsNarrow(width int) {
	const height = 4
	perByte := 8 / width
	begin(fmt.Sprintf("products%dAVX2", width), productsSignature, productsDoc)
	t := newTile(height)
	power := number(XMM(), math.Float32bits(256))
	split, ones, each := splitter(width, YMM), number(YMM(), 0x00010001), 1
	if width == 8 {
		each = 2 // high and low
	}
	sums := make([]VecVirtual, height*each)
	t.narrow(2*perByte, func() {
		for i := range sums {
			sums[i] = YMM()
			VPXOR(sums[i], sums[i], sums[i])
		}
	}, func(query, from Register, last bool) {
		codes := YMM()
		if width == 8 {
			high, low, product := YMM(), YMM(), YMM()
			VPMOVSXBW(at(query, constantBytes), high)
			VPMOVSXBW(at(query, constantBytes+stripBytes), low)
			for i := range height {
				if last {
					VPMOVZXBW(t.row(from, i), codes.AsX())
				} else {
					VPMOVZXBW(t.row(from, i), codes)
				}
				VPMADDWD(high, codes, product)
				VPADDD(product, sums[2*i], sums[2*i])
				VPMADDWD(low, codes, codes)
				VPADDD(codes, sums[2*i+1], sums[2*i+1])
			}
			return
		}
		for i := range height {
			if last {
				VPBROADCASTQ(t.row(from, i), codes) // the digits behind the row are 0
			} else {
				VBROADCASTI128(t.row(from, i), codes)
			}
			parts := split(codes)
			for p, part := range parts {
				VPMADDUBSW(at(query, constantBytes+2*stripBytes*p), part, part)
				if p > 0 {
					VPADDW(part, parts[0], parts[0])
				}
			}
			codes = parts[0]
			VPMADDWD(ones, codes, codes)
			VPADDD(codes, sums[i], sums[i])
		}
	}, func(query Register) VecVirtual {
		high, low := XMM(), XMM()
		if width == 8 {
			for digit, half := range []VecVirtual{high, low} {
				sum := addLanes(sums[digit], sums[2+digit], sums[4+digit], sums[6+digit])
				VEXTRACTI128(U8(1), sum, half)
				VPADDD(sum.AsX(), half, half)
			}
		} else {
			sum := addLanes(sums[0], sums[1], sums[2], sums[3])
			VEXTRACTI128(U8(1), sum, low)
			VMOVDQA(sum.AsX(), high)
		}
		return horner([]VecVirtual{high, low}, [][]int{{highConstant}, {lowConstant}}, power, subtractAt(query))
	})
}

// pairs is the number of registers of bitsNarrow that hold 16 bytes of each of two rows.
const pairs = 2

// bitsNarrow sums the products of codes of 1 or 2 bits and queries of one digit. A register has 16
// bytes of each of two rows. VPMADDUBSW adds two products, and the sums of all codes of a byte are
// added: at most 8·3·128 < 2¹⁵.
func bitsNarrow(width int) {
	begin(fmt.Sprintf("products%dAVX2", width), productsSignature, productsDoc)
	t := newTile(2 * pairs)
	mask, ones := number(YMM(), uint32(1<<width-1)*0x01010101), number(YMM(), 0x00010001)
	sums := make([]VecVirtual, pairs)
	t.narrow(8/width, func() {
		for j := range sums {
			sums[j] = YMM()
			VPXOR(sums[j], sums[j], sums[j])
		}
	}, func(query, from Register, last bool) {
		var codes, words [pairs]VecVirtual
		for j := range codes {
			codes[j], words[j] = YMM(), YMM()
			t.loadPair(from, j, last, codes[j])
		}
		for p := range 8 / width {
			digits := YMM()
			VBROADCASTI128(at(query, constantBytes+stripBytes*p), digits)
			for j, c := range codes {
				part := words[j]
				if p > 0 {
					part = YMM()
					VPSRLW(U8(p*width), c, part)
					VPAND(mask, part, part)
				} else {
					VPAND(mask, c, part)
				}
				VPMADDUBSW(digits, part, part)
				if p > 0 {
					VPADDW(part, words[j], words[j])
				}
			}
		}
		for j, w := range words {
			VPMADDWD(ones, w, w)
			VPADDD(w, sums[j], sums[j])
		}
	}, func(query Register) VecVirtual {
		return horner([]VecVirtual{pairSums(sums)}, productConstants(width), nil, subtractAt(query))
	})
}

// loadPair loads 16 bytes, or the last 8 bytes, of each of two rows.
func (t tile) loadPair(from Register, pair int, last bool, codes VecVirtual) {
	first, second := t.row(from, 2*pair), t.row(from, 2*pair+1)
	if last {
		both := YMM()
		VPBROADCASTQ(first, codes) // the digits behind the row are 0
		VPBROADCASTQ(second, both)
		VPBLENDD(U8(0b11110000), both, codes, codes)
	} else {
		VBROADCASTI128(first, codes)
		VINSERTI128(U8(1), second, codes, codes)
	}
}

// pairSums returns the sums of four rows, of which each register has two.
func pairSums(sums []VecVirtual) VecVirtual {
	lanes, v := sums[0], XMM()
	VPHADDD(sums[1], lanes, lanes)
	VPHADDD(lanes, lanes, lanes)
	VEXTRACTI128(U8(1), lanes, v)
	VPUNPCKLDQ(v, lanes.AsX(), v)
	return v
}

// addLanes returns the sums of the doublewords in each half of a, b, c and d.
func addLanes(a, b, c, d VecVirtual) VecVirtual {
	VPHADDD(b, a, a)
	VPHADDD(d, c, c)
	VPHADDD(c, a, a)
	return a
}
