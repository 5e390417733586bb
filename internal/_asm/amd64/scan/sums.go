package scan

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/_asm/zeros"
)

// What package scan says of weights: a group of rows has two bytes for each row, and then the step
// and the constant, the sums of the weights of its parts, and the sum of the weights times zero
// points.
const (
	groupRows  = 64
	groupBytes = 2*groupRows + 32
	stepAt     = 2 * groupRows
	constantAt = stepAt + 4
	sumAt      = stepAt + 8
	zerosAt    = sumAt + 4*groupRows/zeros.PartRows
	largest    = 127 * 257
)

const (
	sumsSignature = "(sums *float32, rows, weights *uint64, n, words, sets, stride int)"
	sumsDoc       = "adds the weighted sums of rows, as the reference does."
)

// groups is a loop over groups of rows and sets of weights.
type groups struct {
	rows, stride      GPVirtual // of the group; bytes from row to row
	weights, sums     GPVirtual // of the group and the set
	weightsOf, sumsOf Mem       // bytes of a set
	n, count, left    Mem       // rows from the group on, rows of the group, remaining sets
}

func newGroups(width int) groups {
	g := groups{rows: amd64.Argument("rows"), stride: GP64(), weights: GP64(), sums: GP64()}
	for _, place := range []*Mem{&g.weightsOf, &g.sumsOf, &g.n, &g.count, &g.left} {
		*place = AllocLocal(8)
	}
	v := amd64.Argument("stride")
	SHLQ(U8(3), v)
	MOVQ(v, g.weightsOf)
	MOVQ(amd64.Argument("n"), v)
	MOVQ(v, g.n)
	MOVQ(amd64.Argument("words"), g.stride)
	LEAQ(at(g.stride, 3), v)
	SHRQ(U8(2), v)
	IMUL3Q(U32(32*4*8/width), v, v)
	MOVQ(v, g.sumsOf)
	SHLQ(U8(3), g.stride)
	return g
}

// loop writes body for every group and each set, or pair of sets, and ends the function.
func (g groups) loop(batches []int, body func(label string, batch int)) {
	first := AllocLocal(8) // weights of the group
	MOVQ(amd64.Argument("weights"), g.weights)
	MOVQ(g.weights, first)
	Label("group")
	v, most := GP64(), GP64()
	MOVQ(g.n, v)
	MOVQ(U32(groupRows), most)
	CMPQ(v, most)
	CMOVQGT(most, v)
	MOVQ(v, g.count)
	MOVQ(amd64.Argument("sets"), v)
	MOVQ(v, g.left)
	MOVQ(first, g.weights)
	MOVQ(amd64.Argument("sums"), g.sums)
	for _, batch := range batches {
		label := fmt.Sprintf("sets%d", batch)
		SUBQ(U32(batch), g.left)
		JLT(LabelRef(label + "End"))
		Label(label)
		body(label, batch)
		for range batch {
			ADDQ(g.weightsOf, g.weights)
			ADDQ(g.sumsOf, g.sums)
		}
		SUBQ(U32(batch), g.left)
		JGE(LabelRef(label))
		Label(label + "End")
		ADDQ(U32(batch), g.left)
	}
	ADDQ(U32(groupBytes), first)
	next := GP64()
	MOVQ(g.stride, next)
	SHLQ(U8(6), next)
	ADDQ(next, g.rows)
	SUBQ(U32(groupRows), g.n)
	JG(LabelRef("group"))
	amd64.End()
}

// sumsWide takes 32 bytes of four rows at a time, puts the four bytes of a column side by side, and
// multiplies them by the digits of the weights of their rows. For codes of 8 bits, two sets of
// weights use the same columns. For codes of 4 bits there are too few registers.
func sumsWide(width int) {
	const height, stripBytes = 4, 32
	perByte := 8 / width
	begin(fmt.Sprintf("sums%dAVX512", width), sumsSignature, sumsDoc+" It needs VNNI.")
	g := newGroups(width)
	thrice := amd64.Triple(g.stride)
	zero := YMM()
	VPXOR(zero, zero, zero)
	var nibble VecVirtual
	batches := []int{2, 1}
	if width == 4 {
		nibble, batches = number(YMM(), 0x0f0f0f0f), []int{1}
	}
	masks := []Register{K1, K2, K3, K4} // of the doublewords of each row
	none := K5
	KXORW(none, none, none)
	// The doublewords of the last strip.
	last, ones := GP64(), GP64()
	MOVQ(amd64.Argument("words"), last)
	DECQ(last)
	ANDQ(U8(3), last)
	LEAQ(Mem{Base: last, Index: last, Scale: 1, Disp: 2}, last)
	MOVQ(I32(-1), ones)
	BZHIQ(last, ones, ones)
	KMOVW(ones.As32(), K6)
	g.loop(batches, func(label string, batch int) {
		column := GP64() // the first byte of the strip
		XORQ(column, column)
		Label(label + "Strip")
		p, w, fetch, left := GP64(), GP64(), GP64(), GP64()
		// The last strip may be shorter.
		for _, k := range masks {
			KXNORW(k, k, k)
		}
		LEAQ(Mem{Base: column, Disp: stripBytes}, left)
		CMPQ(left, g.stride)
		JL(LabelRef(label + "Whole"))
		for _, k := range masks {
			KMOVW(K6, k)
		}
		Label(label + "Whole")
		LEAQ(Mem{Base: g.rows, Index: column, Scale: 1}, p)
		MOVQ(column, fetch)
		SHLQ(U8(6), fetch)
		LEAQ(Mem{Base: g.rows, Index: fetch, Scale: 1, Disp: ahead}, fetch)
		MOVQ(g.weights, w)
		sums := make([][][]VecVirtual, batch*perByte) // of a set and a part: high, low
		for i := range sums {
			sums[i] = make([][]VecVirtual, 2)
			for digit := range sums[i] {
				sums[i][digit] = []VecVirtual{YMM(), YMM(), YMM(), YMM()}
				for _, v := range sums[i][digit] {
					VMOVDQA64(zero, v)
				}
			}
		}
		var second GPVirtual // the distance of the second set
		if batch == 2 {
			second = GP64()
			MOVQ(g.weightsOf, second)
		}
		MOVQ(g.count, left)
		SHRQ(U8(2), left)
		JZ(LabelRef(label + "Last"))
		Label(label + "Rows")
		rows := make([]VecVirtual, height)
		for i := range rows {
			rows[i] = YMM()
			VMOVDQU32_Z(amd64.Row(i, p, g.stride, thrice), masks[i], rows[i])
		}
		LEAQ(Mem{Base: p, Index: g.stride, Scale: 4}, p)
		PREFETCHT0(at(fetch, 0))
		PREFETCHT0(at(fetch, 64))
		ADDQ(U32(height*stripBytes), fetch)
		digits := make([][]VecVirtual, batch)
		for k := range digits {
			digits[k] = []VecVirtual{YMM(), YMM()}
			for digit, v := range digits[k] {
				from := at(w, digit*groupRows)
				if k == 1 {
					from.Index, from.Scale = second, 1
				}
				VPBROADCASTD(from, v)
			}
		}
		ADDQ(U8(height), w)
		for c, codes := range columnsOf(rows) {
			parts := []VecVirtual{codes}
			if width == 4 {
				upper := YMM()
				VPSRLW(U8(4), codes, upper)
				VPANDD(nibble, codes, codes)
				VPANDD(nibble, upper, upper)
				parts = append(parts, upper)
			}
			for i, sum := range sums {
				for digit := range sum {
					amd64.PlusBytes(digits[i/perByte][digit], parts[i%perByte], sum[digit][c])
				}
			}
		}
		DECQ(left)
		JG(LabelRef(label + "Rows"))
		JL(LabelRef(label + "Sum"))
		Label(label + "Last")
		rest := GP64()
		MOVQ(g.count, rest)
		ANDQ(U8(height-1), rest)
		JZ(LabelRef(label + "Sum"))
		KMOVW(none, masks[3])
		for i := 2; i > 0; i-- {
			CMPQ(rest, U8(i))
			JG(LabelRef(label + "Rows"))
			KMOVW(none, masks[i])
		}
		JMP(LabelRef(label + "Rows"))
		Label(label + "Sum")
		to, group := GP64(), GP64()
		IMUL3Q(U32(4*perByte), column, to)
		ADDQ(g.sums, to)
		MOVQ(g.weights, group)
		for i, sum := range sums {
			if i == perByte {
				ADDQ(g.sumsOf, to)
				ADDQ(g.weightsOf, group)
			}
			part := i % perByte
			step := YMM()
			VBROADCASTSS(at(group, stepAt), step)
			for c, v := range sum[0] {
				upper := XMM()
				VPSLLD(U8(9), v, v)
				VPADDD(sum[1][c], sum[1][c], sum[1][c])
				VPADDD(sum[1][c], v, v)
				VPSUBD_BCST(at(group, constantAt), v, v)
				VCVTDQ2PS(v, v)
				VMULPS(step, v, v)
				VEXTRACTF32X4(U8(1), v, upper)
				for half, x := range []Op{v.AsX(), upper} {
					place := at(to, 4*(16*(half*perByte+part)+4*c))
					VADDPS(place, x, x)
					VMOVUPS(x, place)
				}
			}
		}
		ADDQ(U8(stripBytes), column)
		CMPQ(column, g.stride)
		JL(LabelRef(label + "Strip"))
	})
}

// columnsOf returns four vectors with the bytes of four rows in each doubleword: bytes 4i … 4i+3 of
// the rows' halves in vector i.
func columnsOf(rows []VecVirtual) []VecVirtual {
	return unpacked(rows, YMM, [2][2]func(ops ...Op){{VPUNPCKLBW, VPUNPCKHBW}, {VPUNPCKLWD, VPUNPCKHWD}})
}

const (
	weighSignature = "(dst *uint64, w, scales *float32, groups, odd int)"
	weighDoc       = "rounds the weights of whole groups of rows, as the reference does."
)

// weigh writes bytes of upper digits and then of lower ones, or integers of 16 bits if narrow.
func (m avx) weigh() {
	begin("weigh"+m.Name, weighSignature, weighDoc)
	dst, w, scales, left := amd64.Argument("dst"), amd64.Argument("w"), amd64.Argument("scales"), amd64.Argument("groups")
	odd := amd64.Argument("odd")
	magnitude, most := number(m.Vec(), 1<<31-1), number(XMM(), math.Float32bits(largest))
	var half, lower, order VecVirtual
	if m.Wide {
		half, lower, order = number(m.Vec(), 1<<23|1<<7), number(m.Vec(), 255<<16|255), m.Vec()
		VMOVDQU32(m.Table("weightOrder", 16, func(i int) uint64 { return uint64(i%4*4 + i/4) }), order)
	}
	zerosOf := zeros.Of[Op, Register](m)
	Label("group")
	count := groupRows / m.Lanes()
	parts, products := make([]Op, count), make([]Op, count)
	for i := range parts {
		parts[i] = m.Load(w, i*m.Width())
	}
	if m.Wide {
		all := m.foldParts(parts)
		VPERMD(all, order, all)
		VMOVUPS(all.AsX(), at(dst, sumAt))
	} else {
		for i := 0; i < count; i += 2 {
			VMOVSS(m.Fold(m.Machine.Add, zeros.Fold[Op, Register](m, parts[i:i+2]).(Vec), m.Vec()), at(dst, sumAt+2*i))
		}
	}
	for i := range products {
		products[i] = zerosOf(m.Load(scales, i*m.Width()))
		m.Mul(products[i], at(w, i*m.Width()), products[i])
	}
	VMOVSS(m.Fold(m.Machine.Add, zeros.Fold[Op, Register](m, products).(Vec), m.Vec()), at(dst, zerosAt))
	v := make([]VecVirtual, count)
	var peak VecVirtual
	for i := range v {
		v[i] = m.Vec()
		m.Machine.Move(at(w, i*m.Width()), v[i])
		m.Machine.Mul(at(scales, i*m.Width()), v[i], v[i])
		size := m.Vec()
		m.Machine.And(magnitude, v[i], size)
		if i == 0 {
			peak = size
		} else {
			VPMAXUD(size, peak, peak)
		}
	}
	// Bits have the order of magnitudes, and the bits of NaN are the largest.
	top, step, sum := m.Fold(VPMAXUD, peak, m.Vec()), XMM(), GP64()
	VDIVSS(most, top, step)
	VMOVSS(step, at(dst, stepAt))
	VDIVSS(top, most, step)
	perStep := m.Broadcast(step)
	for i := range v {
		m.Machine.Mul(perStep, v[i], v[i])
		VCVTPS2DQ(v[i], v[i])
	}
	// Packs take 16 bytes of each register in turn.
	if m.Wide {
		high, low := []VecVirtual{m.Vec(), m.Vec()}, []VecVirtual{m.Vec(), m.Vec()}
		for i := range high {
			VPACKSSDW(v[2*i+1], v[2*i], low[i])
			VPADDW(half, low[i], high[i])
			VPSRAW(U8(8), high[i], high[i])
			VPANDD(lower, low[i], low[i])
		}
		VPACKSSWB(high[1], high[0], high[0])
		VPACKUSWB(low[1], low[0], low[0])
		for i, x := range []VecVirtual{high[0], low[0]} {
			VPERMD(x, order, x)
			VMOVDQU32(x, at(dst, i*groupRows))
		}
	} else {
		for i := 0; i < len(v); i += 2 {
			both := m.Vec()
			VPACKSSDW(v[i+1], v[i], both)
			VPERMQ(U8(0b11011000), both, both)
			VMOVDQU(both, at(dst, i*m.Lanes()*2))
		}
	}
	for h := len(v) / 2; h > 0; h /= 2 {
		for i := range h {
			VPADDD(v[i+h], v[i], v[i])
		}
	}
	VMOVD(m.Fold(VPADDD, v[0], m.Vec()), sum.As32())
	IMULQ(odd, sum)
	MOVL(sum.As32(), at(dst, constantAt))
	ADDQ(U32(groupRows*4), w)
	ADDQ(U32(groupRows*4), scales)
	ADDQ(U32(groupBytes), dst)
	amd64.Repeat("group", left)
	amd64.End()
}

// foldParts folds four vectors at a time, to the first elements of the quarters of the result.
func (m avx) foldParts(v []Op) VecVirtual {
	both := func(a, b Op, lower, upper int) VecVirtual {
		x, y := ZMM(), ZMM()
		VSHUFF64X2(U8(lower), b, a, x)
		VSHUFF64X2(U8(upper), b, a, y)
		VADDPS(x, y, x)
		return x
	}
	sum, other := both(both(v[0], v[1], 0x44, 0xee), both(v[2], v[3], 0x44, 0xee), 0x88, 0xdd), ZMM()
	VPERMILPD(U8(0x55), sum, other)
	VADDPS(other, sum, sum)
	VPERMILPS(U8(0xb1), sum, other)
	VADDPS(other, sum, sum)
	return sum
}

// sumsNarrow multiplies codes of two rows, side by side as 16 bits, by the weights of the rows.
func sumsNarrow(width int) {
	perByte := 8 / width
	begin(fmt.Sprintf("sums%dAVX2", width), sumsSignature, sumsDoc)
	g := newGroups(width)
	var nibble VecVirtual
	if width == 4 {
		nibble = number(YMM(), 0x000f000f)
	}
	g.loop([]int{1}, func(label string, _ int) {
		column := GP64() // the first byte of the strip
		XORQ(column, column)
		Label("strip")
		rest := GP64()
		LEAQ(at(column, stripBytes), rest)
		CMPQ(rest, g.stride)
		JG(LabelRef("half"))
		rows := []VecVirtual{YMM(), YMM()}
		strip := func(label string, load func(row Mem, to VecVirtual)) {
			p, w, left, next := GP64(), GP64(), GP64(), GP64()
			LEAQ(Mem{Base: g.rows, Index: column, Scale: 1}, p)
			MOVQ(g.weights, w)
			MOVQ(g.stride, next)
			sums := make([][]VecVirtual, perByte)
			for i := range sums {
				sums[i] = []VecVirtual{YMM(), YMM()}
				for _, v := range sums[i] {
					VPXOR(v, v, v)
				}
			}
			MOVQ(g.count, left)
			SHRQ(U8(1), left)
			JZ(LabelRef(label + "Last"))
			Label(label + "Rows")
			load(at(p, 0), rows[0])
			load(Mem{Base: p, Index: next, Scale: 1}, rows[1])
			PREFETCHT0(at(p, ahead))
			LEAQ(Mem{Base: p, Index: next, Scale: 2}, p)
			weights := YMM()
			VPBROADCASTD(at(w, 0), weights)
			ADDQ(U8(4), w)
			for c, unpack := range []func(ops ...Op){VPUNPCKLWD, VPUNPCKHWD} {
				codes := YMM()
				unpack(rows[1], rows[0], codes)
				parts := []VecVirtual{codes}
				if width == 4 {
					upper := YMM()
					VPSRLW(U8(4), codes, upper)
					VPAND(nibble, codes, codes)
					parts = append(parts, upper)
				}
				for i, part := range parts {
					VPMADDWD(weights, part, part)
					VPADDD(part, sums[i][c], sums[i][c])
				}
			}
			DECQ(left)
			JG(LabelRef(label + "Rows"))
			JL(LabelRef(label + "Sum"))
			Label(label + "Last")
			// A last row without a partner is read twice, the second time with the weight 0.
			XORQ(next, next)
			MOVQ(g.count, rest)
			ANDQ(U8(1), rest)
			JNZ(LabelRef(label + "Rows"))
			Label(label + "Sum")
			to, step, constant := GP64(), YMM(), YMM()
			IMUL3Q(U32(4*perByte), column, to)
			ADDQ(g.sums, to)
			VBROADCASTSS(at(g.weights, stepAt), step)
			VPBROADCASTD(at(g.weights, constantAt), constant)
			for i, sum := range sums {
				for c, v := range sum {
					upper := XMM()
					VPADDD(v, v, v)
					VPSUBD(constant, v, v)
					VCVTDQ2PS(v, v)
					VMULPS(step, v, v)
					VEXTRACTF128(U8(1), v, upper)
					for half, x := range []Op{v.AsX(), upper} {
						place := at(to, 4*(16*i+8*half+4*c))
						VADDPS(place, x, x)
						VMOVUPS(x, place)
					}
				}
			}
		}
		strip("whole", func(row Mem, to VecVirtual) { VPMOVZXBW(row, to) })
		ADDQ(U8(stripBytes), column)
		CMPQ(column, g.stride)
		JL(LabelRef("strip"))
		JMP(LabelRef("strips"))
		Label("half")
		strip("half", func(row Mem, to VecVirtual) { VPMOVZXBW(row, to.AsX()) })
		Label("strips")
	})
}
