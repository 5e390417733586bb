package scan

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// sums is the number of sums of a lane, which the reference has as well.
const sums = 4

// lookup is the way in which a machine looks up levels.
type lookup struct {
	rest, blocks Register // words of the last, shorter block, and whole blocks
	clear        func(acc VecVirtual)
	// add adds the products of a block, or of the last block, with the query at q.
	add func(rows, q Register, acc []VecVirtual, tail bool)
}

// levels writes the kernel of a machine for codes of so many bits.
func levels(m amd64.Machine, width int, prepare func(table, words Register, width int) lookup) {
	begin(fmt.Sprintf("levels%d%s", width, m.Name[3:]), "(dst *float32, rows *uint64, table, query *float32, n, words int)",
		fmt.Sprintf("sets dst[i] to the product of the query and the levels of row i, with codes of %d bits.", width))
	dst, rows, table, query := amd64.Argument("dst"), amd64.Argument("rows"), amd64.Argument("table"), amd64.Argument("query")
	n, words := amd64.Argument("n"), amd64.Argument("words")
	l := prepare(table, words, width)
	TESTQ(n, n)
	JZ(LabelRef("done"))
	Label("row")
	acc := make([]VecVirtual, lanes/m.Lanes()*sums) // of the parts of a block
	for i := range acc {
		acc[i] = m.Vec()
		l.clear(acc[i])
	}
	q, left := GP64(), GP64()
	MOVQ(query, q)
	MOVQ(l.blocks, left)
	TESTQ(left, left)
	JZ(LabelRef("tail"))
	Label("block")
	l.add(rows, q, acc, false)
	ADDQ(U32(blockBytes), rows)
	ADDQ(U32(32/width*blockBytes), q)
	amd64.Repeat("block", left)
	Label("tail")
	TESTQ(l.rest, l.rest)
	JZ(LabelRef("sum"))
	l.add(rows, q, acc, true)
	LEAQ(Mem{Base: rows, Index: l.rest, Scale: 8}, rows)
	Label("sum")
	for part := 0; part < len(acc); part += sums {
		for h := sums / 2; h > 0; h /= 2 {
			for i := part; i < part+h; i++ {
				m.Add(acc[i+h], acc[i], acc[i])
			}
		}
		if part > 0 {
			m.Add(acc[part], acc[0], acc[0])
		}
	}
	VMOVSS(m.Fold(m.Add, acc[0], m.Vec()), at(dst, 0))
	ADDQ(U32(4), dst)
	amd64.Repeat("row", n)
	Label("done")
	amd64.End()
}

// wide looks levels up in a register of 16 numbers.
func wide(table, words Register, width int) lookup {
	// The last block has two lanes a word.
	rest, bits, blocks := GP64(), GP64(), GP64()
	MOVQ(words, rest)
	ANDQ(U8(blockWords-1), rest)
	LEAQ(Mem{Base: rest, Index: rest, Scale: 1}, bits)
	amd64.Machines[0].Mask(bits, nil)
	MOVQ(words, blocks)
	SHRQ(U8(3), blocks)
	zero, levels := ZMM(), ZMM()
	VPXORD(zero, zero, zero)
	VMOVUPS(at(table, 0), levels)
	return lookup{rest, blocks, func(acc VecVirtual) { VMOVDQA64(zero, acc) }, func(rows, q Register, acc []VecVirtual, tail bool) {
		codes := ZMM()
		if tail {
			VMOVDQU32_Z(at(rows, 0), K1, codes)
		} else {
			VMOVDQU32(at(rows, 0), codes)
		}
		PREFETCHT0(at(rows, ahead))
		for j := range 32 / width {
			index, v := codes, ZMM()
			if j > 0 {
				index = ZMM()
				VPSRLD(U8(j*width), codes, index)
			}
			VPERMPS(levels, index, v)
			VFMADD231PS(at(q, j*blockBytes), v, acc[j%sums])
		}
	}}
}

// narrow looks up the levels of a half of a block at a time. A register holds 8 levels: codes of 4
// bits choose between two registers.
func narrow(table, words Register, width int) lookup {
	rest, blocks := GP64(), GP64()
	MOVQ(words, rest)
	ANDQ(U8(blockWords-1), rest)
	MOVQ(words, blocks)
	SHRQ(U8(3), blocks)
	// The lanes of the last block in the halves of a block.
	var mask [2]Op
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
		mask[h] = amd64.Machines[2].Mask(lanesHere, YMM())
	}
	first, second := YMM(), YMM()
	VMOVUPS(at(table, 0), first)
	if width == 4 {
		VMOVUPS(at(table, 32), second)
	}
	return lookup{rest, blocks, func(acc VecVirtual) { VXORPS(acc, acc, acc) }, func(rows, q Register, acc []VecVirtual, tail bool) {
		for h := range 2 {
			codes := YMM()
			if tail {
				VPMASKMOVD(at(rows, h*32), mask[h], codes)
			} else {
				VMOVDQU(at(rows, h*32), codes)
			}
			if h == 0 {
				PREFETCHT0(at(rows, ahead))
			}
			for j := range 32 / width {
				index, v := codes, YMM()
				if j > 0 {
					index = YMM()
					VPSRLD(U8(j*width), codes, index)
				}
				if width == 4 {
					choose, other := index, YMM()
					VPERMPS(first, index, v)
					VPERMPS(second, index, other)
					if j == 0 {
						choose = YMM()
					}
					VPSLLD(U8(28), index, choose)
					VBLENDVPS(choose, other, v, v)
				} else {
					VPERMPS(first, index, v)
				}
				VFMADD231PS(at(q, j*blockBytes+h*32), v, acc[h*sums+j%sums])
			}
		}
	}}
}
