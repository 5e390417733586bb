package scan

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

const signsDoc = "sets dst[i] to the sum of the weights of row i, as the reference does."

// rowsLoop writes body for groups of rows, then of one, until n rows are done. body gets the
// addresses of the rows and a prefix for its labels; rows are stride bytes apart.
func rowsLoop(n, rows, dst, stride Register, group int, body func(label string, pointers []Register)) {
	for _, k := range []int{group, 1} {
		start, end := fmt.Sprintf("rows%d", k), fmt.Sprintf("rows%dEnd", k)
		SUBQ(U32(k), n)
		JLT(LabelRef(end))
		Label(start)
		pointers := []Register{GP64()}
		MOVQ(rows, pointers[0])
		for i := 1; i < k; i++ {
			next := GP64()
			LEAQ(Mem{Base: pointers[i-1], Index: stride, Scale: 1}, next)
			pointers = append(pointers, next)
		}
		LEAQ(Mem{Base: pointers[k-1], Index: stride, Scale: 1}, rows)
		body(fmt.Sprintf("k%d", k), pointers)
		ADDQ(U32(4*k), dst)
		SUBQ(U32(k), n)
		JGE(LabelRef(start))
		Label(end)
		ADDQ(U32(k), n)
	}
}

// foldRows stores the sum of the doublewords of each of four registers, or of one register, of 32
// bytes.
func foldRows(sums []VecVirtual, dst Register) {
	x, y := XMM(), XMM()
	if len(sums) == 4 {
		addLanes(sums[0], sums[1], sums[2], sums[3])
		VEXTRACTI128(U8(1), sums[0], x)
		VPADDD(sums[0].AsX(), x, y)
		VCVTDQ2PS(y, y)
		VMOVUPS(y, at(dst, 0))
		return
	}
	VEXTRACTI128(U8(1), sums[0], x)
	VPADDD(sums[0].AsX(), x, y)
	VPHADDD(y, y, y)
	VPHADDD(y, y, y)
	VCVTDQ2PS(y, y)
	VMOVSS(y, at(dst, 0))
}

// signsWide counts bits with VPOPCNTQ: a register of counts for each plane of each of four rows.
func signsWide() {
	begin("signsAVX512", "(dst *float32, rows, weights *uint64, n, words int)", signsDoc+" It needs VPOPCNTDQ.")
	dst, rows, weights := amd64.Argument("dst"), amd64.Argument("rows"), amd64.Argument("weights")
	n, words := amd64.Argument("n"), amd64.Argument("words")
	rest := wordMask(words)
	stride, blocks := GP64(), GP64()
	MOVQ(words, stride)
	SHLQ(U8(3), stride)
	MOVQ(words, blocks)
	SHRQ(U8(3), blocks)
	zero := ZMM()
	VPXORD(zero, zero, zero)
	rowsLoop(n, rows, dst, stride, 4, func(label string, row []Register) {
		counts := make([][]VecVirtual, len(row))
		for i := range row {
			counts[i] = make([]VecVirtual, planes)
			for b := range planes {
				counts[i][b] = ZMM()
				VMOVDQA64(zero, counts[i][b])
			}
		}
		weight, left := GP64(), GP64()
		MOVQ(weights, weight)
		block := func(load func(src, dst Op)) {
			codes := make([]VecVirtual, len(row))
			for i := range row {
				codes[i] = ZMM()
				load(at(row[i], 0), codes[i])
				PREFETCHT0(at(row[i], ahead))
			}
			for b := range planes {
				plane := ZMM()
				VMOVDQU64(at(weight, b*blockBytes), plane)
				for i := range row {
					v := ZMM()
					VPANDQ(plane, codes[i], v)
					VPOPCNTQ(v, v)
					VPADDD(v, counts[i][b], counts[i][b])
				}
			}
		}
		MOVQ(blocks, left)
		TESTQ(left, left)
		JZ(LabelRef(label + "Tail"))
		Label(label + "Block")
		block(func(src, dst Op) { VMOVDQU64(src, dst) })
		for i := range row {
			ADDQ(U32(blockBytes), row[i])
		}
		ADDQ(U32(planes*blockBytes), weight)
		amd64.Repeat(label+"Block", left)
		Label(label + "Tail")
		TESTQ(rest, rest)
		JZ(LabelRef(label + "Sum"))
		block(func(src, dst Op) { VMOVDQU64_Z(src, K1, dst) })
		Label(label + "Sum")
		sums := make([]VecVirtual, len(row))
		for i, c := range counts {
			// Horner's scheme; the highest plane counts negatively.
			sum := c[planes-2]
			VPADDD(c[planes-1], c[planes-1], c[planes-1])
			VPSUBD(c[planes-1], sum, sum)
			for b := planes - 3; b >= 0; b-- {
				VPADDD(sum, sum, sum)
				VPADDD(c[b], sum, sum)
			}
			half := YMM()
			VEXTRACTI64X4(U8(1), sum, half)
			sums[i] = YMM()
			VPADDD(sum.AsY(), half, sums[i])
		}
		foldRows(sums, dst)
	})
	amd64.End()
}

// signsNarrow counts the bits of bytes with a table of 16 numbers.
func signsNarrow() {
	counts, nibble := byteTable("bitCounts", func(i int) uint64 {
		return uint64(i&1 + i>>1&1 + i>>2&1 + i>>3&1)
	}), byteTable("nibble", func(int) uint64 { return 15 })
	var weight [planes]Mem
	for b := range planes {
		w := uint64(1) << b
		if b == planes-1 {
			w = 256 - w
		}
		weight[b] = byteTable(fmt.Sprintf("weight%d", b), func(int) uint64 { return w })
	}
	ones := byteTable("ones", func(i int) uint64 { return uint64(1 - i&1) })
	m := amd64.Machines[2]
	m.MaskTable()

	begin("signsAVX2", "(dst *float32, rows, weights *uint64, n, words int)", signsDoc)
	dst, rows, weights := amd64.Argument("dst"), amd64.Argument("rows"), amd64.Argument("weights")
	n, words := amd64.Argument("n"), amd64.Argument("words")
	stride, halves, rest := GP64(), GP64(), GP64()
	MOVQ(words, stride)
	SHLQ(U8(3), stride)
	MOVQ(words, halves)
	SHRQ(U8(2), halves)
	MOVQ(words, rest)
	ANDQ(U8(3), rest)
	SHLQ(U8(1), rest)
	table, low := YMM(), YMM()
	VMOVDQU(counts, table)
	VMOVDQU(nibble, low)
	mask := m.Mask(rest, YMM())
	rowsLoop(n, rows, dst, stride, 4, func(label string, row []Register) {
		sums := make([]VecVirtual, len(row))
		for i := range row {
			sums[i] = YMM()
			VPXOR(sums[i], sums[i], sums[i])
		}
		// A half is 32 bytes: those of the first half of a block, then those of the second.
		plane, left, odd := GP64(), GP64(), GP64()
		MOVQ(weights, plane)
		half := func(load func(src, dst Op)) {
			for i := range row {
				codes := YMM()
				var part VecVirtual
				load(at(row[i], 0), codes)
				PREFETCHT0(at(row[i], ahead))
				for b := range planes {
					v, upper := YMM(), YMM()
					VPAND(at(plane, b*blockBytes), codes, v)
					VPSRLW(U8(4), v, upper)
					VPAND(low, v, v)
					VPAND(low, upper, upper)
					VPSHUFB(v, table, v)
					VPSHUFB(upper, table, upper)
					VPADDB(upper, v, v)
					VPMADDUBSW(weight[b], v, v)
					if b == 0 {
						part = v
					} else {
						VPADDW(v, part, part)
					}
				}
				VPMADDWD(ones, part, part)
				VPADDD(part, sums[i], sums[i])
			}
		}
		MOVQ(halves, left)
		XORQ(odd, odd)
		TESTQ(left, left)
		JZ(LabelRef(label + "Tail"))
		Label(label + "Half")
		half(func(src, dst Op) { VMOVDQU(src, dst) })
		for i := range row {
			ADDQ(U32(blockBytes/2), row[i])
		}
		ADDQ(U32(blockBytes/2), plane)
		// After a second half the planes of the next block begin behind the other planes of this
		// one.
		ADDQ(odd, plane)
		XORQ(U32((planes-1)*blockBytes), odd)
		amd64.Repeat(label+"Half", left)
		Label(label + "Tail")
		TESTQ(rest, rest)
		JZ(LabelRef(label + "Sum"))
		half(func(src, dst Op) { VPMASKMOVD(src, mask, dst) })
		Label(label + "Sum")
		foldRows(sums, dst)
	})
	amd64.End()
}

// byteTable writes 32 bytes.
func byteTable(name string, value func(i int) uint64) Mem {
	GLOBL(name, RODATA|NOPTR)
	for i := range 4 {
		var word uint64
		for j := range 8 {
			word |= value((8*i+j)%16) << (8 * j)
		}
		DATA(8*i, U64(word))
	}
	return amd64.Static(name)
}
