package scan

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

const levelsSignature = "(dst *float32, rows *uint64, table, query *float32, n, words int)"

func levelsDoc(width int) string {
	return fmt.Sprintf("sets dst[i] to the product of the query and the levels of row i, with codes of %d bits.", width)
}

// sums is the number of registers that a row is summed in.
const sums = 4

// levelsWide looks levels up in a register of 16 numbers, or in memory for codes of 8 bits.
func levelsWide(m amd64.Machine, width int) {
	begin(fmt.Sprintf("levels%dAVX512", width), levelsSignature, levelsDoc(width))
	dst, rows, table, query := amd64.Argument("dst"), amd64.Argument("rows"), amd64.Argument("table"), amd64.Argument("query")
	n, words := amd64.Argument("n"), amd64.Argument("words")
	// A tail has two lanes a word.
	rest, ones, bits, blocks := GP64(), GP64(), GP64(), GP64()
	MOVQ(words, rest)
	ANDQ(U8(blockWords-1), rest)
	LEAQ(Mem{Base: rest, Index: rest, Scale: 1}, bits)
	MOVQ(I32(-1), ones)
	BZHIQ(bits, ones, bits)
	KMOVW(bits.As32(), K1)
	MOVQ(words, blocks)
	SHRQ(U8(3), blocks)
	zero, levels, low := ZMM(), ZMM(), ZMM()
	VPXORD(zero, zero, zero)
	if width == 8 {
		VPTERNLOGD(U8(255), low, low, low)
		VPSRLD(U8(24), low, low)
	} else {
		VMOVUPS(at(table, 0), levels)
	}
	TESTQ(n, n)
	JZ(LabelRef("done"))
	Label("row")
	acc := make([]VecVirtual, sums)
	for i := range acc {
		acc[i] = ZMM()
		VMOVDQA64(zero, acc[i])
	}
	q, left := GP64(), GP64()
	MOVQ(query, q)
	MOVQ(blocks, left)
	block := func(load func(src, dst Op)) {
		codes := ZMM()
		load(at(rows, 0), codes)
		PREFETCHT0(at(rows, ahead))
		for j := range 32 / width {
			index, v := codes, ZMM()
			if j > 0 {
				index = ZMM()
				VPSRLD(U8(j*width), codes, index)
			}
			if width == 8 {
				byteIndex := ZMM()
				VPANDD(low, index, byteIndex)
				KXNORW(K2, K2, K2)
				VMOVDQA64(zero, v)
				VGATHERDPS(Mem{Base: table, Index: byteIndex, Scale: 4}, K2, v)
			} else {
				VPERMPS(levels, index, v)
			}
			m.Plus(at(q, j*blockBytes), v, acc[j%sums])
		}
	}
	TESTQ(left, left)
	JZ(LabelRef("tail"))
	Label("block")
	block(func(src, dst Op) { VMOVDQU32(src, dst) })
	ADDQ(U32(blockBytes), rows)
	ADDQ(U32(32/width*blockBytes), q)
	DECQ(left)
	JNZ(LabelRef("block"))
	Label("tail")
	TESTQ(rest, rest)
	JZ(LabelRef("sum"))
	block(func(src, dst Op) { VMOVDQU32_Z(src, K1, dst) })
	LEAQ(Mem{Base: rows, Index: rest, Scale: 8}, rows)
	Label("sum")
	for h := sums / 2; h > 0; h /= 2 {
		for i := range h {
			m.Add(acc[i+h], acc[i], acc[i])
		}
	}
	VMOVSS(m.Fold(m.Add, acc[0], ZMM()), at(dst, 0))
	ADDQ(U32(4), dst)
	DECQ(n)
	JNZ(LabelRef("row"))
	Label("done")
	amd64.End()
}

// levelsNarrow has half a register for each half of a block. A register holds 8 numbers: codes of 4
// bits choose between two.
func levelsNarrow(m amd64.Machine, width int) {
	begin(fmt.Sprintf("levels%dAVX2", width), levelsSignature, levelsDoc(width))
	dst, rows, table, query := amd64.Argument("dst"), amd64.Argument("rows"), amd64.Argument("table"), amd64.Argument("query")
	n, words := amd64.Argument("n"), amd64.Argument("words")
	rest, blocks := GP64(), GP64()
	MOVQ(words, rest)
	ANDQ(U8(blockWords-1), rest)
	MOVQ(words, blocks)
	SHRQ(U8(3), blocks)
	// The lanes of a tail in the halves of a block.
	mask := []VecVirtual{YMM(), YMM()}
	for h := range mask {
		lanesHere, most := GP64(), GP64()
		LEAQ(Mem{Base: rest, Index: rest, Scale: 1, Disp: -8 * h}, lanesHere)
		if h == 1 {
			zero := GP64()
			XORQ(zero, zero)
			TESTQ(lanesHere, lanesHere)
			CMOVQLT(zero, lanesHere)
		}
		MOVQ(U32(8), most)
		CMPQ(lanesHere, most)
		CMOVQGT(most, lanesHere)
		loadEdge(amd64.Static("edge"), lanesHere, mask[h])
	}
	low, every, first, second := YMM(), YMM(), YMM(), YMM()
	switch width {
	case 8:
		VMOVDQU(amd64.Static("edge"), every)
		VPSRLD(U8(24), every, low)
	case 4:
		VMOVUPS(at(table, 0), first)
		VMOVUPS(at(table, 32), second)
	default:
		VMOVUPS(at(table, 0), first)
	}
	TESTQ(n, n)
	JZ(LabelRef("done"))
	Label("row")
	acc := make([]VecVirtual, sums)
	for i := range acc {
		acc[i] = YMM()
		VXORPS(acc[i], acc[i], acc[i])
	}
	q, left := GP64(), GP64()
	MOVQ(query, q)
	MOVQ(blocks, left)
	block := func(load func(src Mem, h int, dst Op)) {
		for h := range 2 {
			codes := YMM()
			load(at(rows, h*32), h, codes)
			if h == 0 {
				PREFETCHT0(at(rows, ahead))
			}
			for j := range 32 / width {
				index, v := codes, YMM()
				if j > 0 {
					index = YMM()
					VPSRLD(U8(j*width), codes, index)
				}
				switch width {
				case 8:
					byteIndex, all := YMM(), YMM()
					VPAND(low, index, byteIndex)
					VMOVDQU(every, all)
					VPXOR(v, v, v)
					VGATHERDPS(all, Mem{Base: table, Index: byteIndex, Scale: 4}, v)
				case 4:
					choose, other := YMM(), YMM()
					VPSLLD(U8(28), index, choose)
					VPERMPS(first, index, v)
					VPERMPS(second, index, other)
					VBLENDVPS(choose, other, v, v)
				default:
					VPERMPS(first, index, v)
				}
				m.Plus(at(q, j*blockBytes+h*32), v, acc[j%sums])
			}
		}
	}
	TESTQ(left, left)
	JZ(LabelRef("tail"))
	Label("block")
	block(func(src Mem, _ int, dst Op) { VMOVDQU(src, dst) })
	ADDQ(U32(blockBytes), rows)
	ADDQ(U32(32/width*blockBytes), q)
	DECQ(left)
	JNZ(LabelRef("block"))
	Label("tail")
	TESTQ(rest, rest)
	JZ(LabelRef("sum"))
	block(func(src Mem, h int, dst Op) { VPMASKMOVD(src, mask[h], dst) })
	LEAQ(Mem{Base: rows, Index: rest, Scale: 8}, rows)
	Label("sum")
	for h := sums / 2; h > 0; h /= 2 {
		for i := range h {
			m.Add(acc[i+h], acc[i], acc[i])
		}
	}
	VMOVSS(m.Fold(m.Add, acc[0], YMM()), at(dst, 0))
	ADDQ(U32(4), dst)
	DECQ(n)
	JNZ(LabelRef("row"))
	Label("done")
	amd64.End()
}
