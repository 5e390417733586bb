package scan

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// levelsNarrow looks up the two bytes of levels as levelsWide does, in 8 parts of 16 bytes each:
// VPSHUFB gives 0 for what is not in a part. A register has 16 bytes of two rows.
func levelsNarrow() {
	const height, pairs = 4, 2
	var part [8]Mem // changes codes of the part to those below 16
	for i := range part {
		part[i] = byteTable(fmt.Sprintf("part%d", i), func(int) uint64 { return uint64(16 * i) })
	}
	outside := byteTable("outside", func(int) uint64 { return 0x70 }) // sets the highest bit from 16 on

	begin("levelProductsAVX2", levelProductsSignature, levelProductsDoc)
	t := newTile(height)
	left, bytes, table := AllocLocal(8), queryBytes(2), amd64.Argument("table")
	t.loop(func() {
		query, to, from := amd64.Argument("digits"), GP64(), GP64()
		MOVQ(amd64.Argument("queries"), to)
		MOVQ(to, left)
		MOVQ(t.dst, to)
		Label("query")
		var sums [3][pairs]VecVirtual // high by high, high by low and low by high, low by low
		for i := range sums {
			for j := range sums[i] {
				sums[i][j] = YMM()
				VPXOR(sums[i][j], sums[i][j], sums[i][j])
			}
		}
		MOVQ(t.rows, from)
		strips := amd64.Argument("words")
		SHRQ(U8(1), strips)
		JZ(LabelRef("last"))
		strip := func(load func(pair int, codes VecVirtual)) {
			// All bits of the codes from 128 on.
			upper := func(codes VecVirtual) VecVirtual {
				ones := YMM()
				VPXOR(ones, ones, ones)
				VPCMPGTB(codes, ones, ones)
				return ones
			}
			var index, high, low [pairs]VecVirtual
			for j := range index {
				index[j], high[j], low[j] = YMM(), YMM(), YMM()
				load(j, index[j])
				VPXOR(upper(index[j]), index[j], index[j])
			}
			for i := range part {
				levels := []VecVirtual{YMM(), YMM()}
				VBROADCASTI128(at(table, 16*i), levels[0])
				VBROADCASTI128(at(table, 128+16*i), levels[1])
				for j := range index {
					place := YMM()
					VPXOR(part[i], index[j], place)
					VPADDB(outside, place, place)
					for b, found := range []VecVirtual{high[j], low[j]} {
						if i == 0 {
							VPSHUFB(place, levels[b], found)
							continue
						}
						more := YMM()
						VPSHUFB(place, levels[b], more)
						VPOR(more, found, found)
					}
				}
			}
			for j := range index {
				// Loaded again, because there are too few registers.
				load(j, index[j])
				ones := upper(index[j])
				VPXOR(ones, high[j], high[j])
				VPXOR(ones, low[j], low[j])
			}
			zero := YMM()
			VPXOR(zero, zero, zero)
			for half, unpack := range []func(ops ...Op){VPUNPCKLBW, VPUNPCKHBW} {
				var digits [2]VecVirtual
				for d := range digits {
					twice := XMM()
					VPBROADCASTQ(at(query, constantBytes+d*stripBytes+half*8), twice)
					digits[d] = YMM()
					VPMOVSXBW(twice, digits[d])
				}
				for j := range index {
					for i, b := range []VecVirtual{high[j], low[j]} {
						for d, digit := range digits {
							words := YMM()
							unpack(zero, b, words)
							VPMADDWD(digit, words, words)
							VPADDD(words, sums[i+d][j], sums[i+d][j])
						}
					}
				}
			}
		}
		Label("strip")
		strip(func(pair int, codes VecVirtual) {
			VBROADCASTI128(t.row(from, 2*pair), codes)
			VINSERTI128(U8(1), t.row(from, 2*pair+1), codes, codes)
		})
		PREFETCHT0(at(from, ahead))
		ADDQ(U8(stripBytes), from)
		ADDQ(U32(2*stripBytes), query)
		amd64.Repeat("strip", strips)
		Label("last")
		words := amd64.Argument("words")
		TESTQ(U32(1), words)
		JZ(LabelRef("sum"))
		strip(func(pair int, codes VecVirtual) {
			second := YMM()
			VPBROADCASTQ(t.row(from, 2*pair), codes) // the digits of what is beyond are 0
			VPBROADCASTQ(t.row(from, 2*pair+1), second)
			VPBLENDD(U8(0b11110000), second, codes, codes)
		})
		Label("sum")
		start := GP64()
		MOVQ(amd64.Argument("words"), start)
		SHRQ(U8(1), start)
		SHLQ(U8(5), start)
		SUBQ(start, query)
		// Horner's scheme.
		total, power := XMM(), number(XMM(), math.Float32bits(256))
		for i, constants := range [][]int{{highConstant}, {highConstant, lowConstant}, {lowConstant}} {
			lanes, v := sums[i][0], XMM()
			VPHADDD(sums[i][1], lanes, lanes)
			VPHADDD(lanes, lanes, lanes)
			VEXTRACTI128(U8(1), lanes, v)
			VPUNPCKLDQ(v, lanes.AsX(), v)
			VPADDD(v, v, v)
			for _, c := range constants {
				constant := XMM()
				VPBROADCASTD(at(query, c), constant)
				VPSUBD(constant, v, v)
			}
			VCVTDQ2PS(v, v)
			if i > 0 {
				VFMADD231PS(total, power, v)
			}
			total = v
		}
		CMPQ(t.count, U8(1))
		JE(LabelRef("one"))
		VMOVUPS(total, at(to, 0))
		JMP(LabelRef("stored"))
		Label("one")
		VMOVSS(total, at(to, 0))
		Label("stored")
		ADDQ(bytes, query)
		stride := amd64.Argument("stride")
		LEAQ(Mem{Base: to, Index: stride, Scale: 4}, to)
		DECQ(left)
		JNZ(LabelRef("query"))
	})
}
