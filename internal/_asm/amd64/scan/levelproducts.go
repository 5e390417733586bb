package scan

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// pairs is the number of registers of levelsNarrow that hold 16 bytes of each of two rows.
const pairs = 2

// levelsNarrow looks up the two bytes of levels, and multiplies them as integers of 16 bits.
func levelsNarrow(width int) {
	const height = 2 * pairs
	var find func(table Register, p int, load func(pair int, codes VecVirtual)) (high, low [pairs]VecVirtual)
	if width == 8 {
		find = findParts()
	}
	begin(fmt.Sprintf("levelProducts%dAVX2", width), levelProductsSignature, levelProductsDoc)
	t := newTile(height)
	table := amd64.Argument("table")
	if width < 8 {
		mask := number(YMM(), uint32(1<<width-1)*0x01010101)
		find = func(table Register, p int, load func(pair int, codes VecVirtual)) (high, low [pairs]VecVirtual) {
			levels := []VecVirtual{YMM(), YMM()}
			for i, v := range levels {
				VBROADCASTI128(at(table, stripBytes*i), v)
			}
			for j := range high {
				high[j], low[j] = YMM(), YMM()
				load(j, low[j])
				if p > 0 {
					VPSRLW(U8(p*width), low[j], low[j])
				}
				VPAND(mask, low[j], low[j])
				VPSHUFB(low[j], levels[0], high[j])
				VPSHUFB(low[j], levels[1], low[j])
			}
			return high, low
		}
	}
	each := len(productConstants(width))
	sums := make([][pairs]VecVirtual, 1+each) // of the digits of levels and queries, the highest first
	t.narrow(each*8/width, func() {
		for i := range sums {
			for j := range sums[i] {
				sums[i][j] = YMM()
				VPXOR(sums[i][j], sums[i][j], sums[i][j])
			}
		}
	}, func(query, from Register, last bool) {
		for p := range 8 / width {
			high, low := find(table, p, func(pair int, codes VecVirtual) { t.loadPair(from, pair, last, codes) })
			zero := YMM()
			VPXOR(zero, zero, zero)
			for half, unpack := range []func(ops ...Op){VPUNPCKLBW, VPUNPCKHBW} {
				digits := make([]VecVirtual, each)
				for d := range digits {
					twice := XMM()
					VPBROADCASTQ(at(query, constantBytes+(each*p+d)*stripBytes+half*8), twice)
					digits[d] = YMM()
					VPMOVSXBW(twice, digits[d])
				}
				for j := range high {
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
	}, func(query Register) VecVirtual {
		var totals []VecVirtual
		for _, s := range sums {
			totals = append(totals, pairSums(s[:]))
		}
		subtract := subtractLevels(XMM)
		return horner(totals, levelConstants(width), number(XMM(), math.Float32bits(256)), func(c int, v VecVirtual) {
			subtract(func(bytes int) Mem { return at(query, bytes) }, c, v)
		})
	})
}

// findParts writes constants, and returns a function that looks up levels of codes of 8 bits as
// halves does, in 8 parts of 16 bytes each: VPSHUFB gives 0 for codes outside a part.
func findParts() func(table Register, p int, load func(pair int, codes VecVirtual)) (high, low [pairs]VecVirtual) {
	var part [8]Mem // changes codes of the part to those below 16
	for i := range part {
		part[i] = byteTable(fmt.Sprintf("part%d", i), func(int) uint64 { return uint64(16 * i) })
	}
	// sets the highest bit from 16 on
	outside := byteTable("outside", func(int) uint64 { return 0x70 })
	// upper returns all bits of the codes from 128 on.
	upper := func(codes VecVirtual) VecVirtual {
		ones := YMM()
		VPXOR(ones, ones, ones)
		VPCMPGTB(codes, ones, ones)
		return ones
	}
	return func(table Register, _ int, load func(pair int, codes VecVirtual)) (high, low [pairs]VecVirtual) {
		var index [pairs]VecVirtual
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
		return high, low
	}
}
