package bytedot

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// quantise writes the functions that make codes of rows and of columns.
func (m machine) quantise() {
	m.spanRows()
	m.encodeRows()
	m.spanColumns()
	m.encodeColumns()
	m.transpose()
}

func (m machine) spanRows() {
	m.Begin("spanRows", "(dst *uint32, x *float32, stride, rows, sixteens int)",
		"raises each of dst to the bits of the largest |x[j]| of a row of 16·sixteens elements.")
	dst, x, stride, rows := amd64.Argument("dst"), amd64.Argument("x"), bytes("stride"), amd64.Argument("rows")
	mask := m.operand(absolute())
	Label("row")
	most, row, left := m.Vec(), copyOf(x), amd64.Argument("sixteens")
	m.Clear(most)
	Label("sixteen")
	for _, v := range m.loadAll(m.vectors(), row) {
		m.and(mask, v, v)
		VPMAXUD(v, most, most)
	}
	ADDQ(U32(4*lanes), row)
	amd64.Repeat("sixteen", left)
	one, old := m.Fold(VPMAXUD, most, m.Vec()).(VecVirtual), XMM()
	VMOVD(at(dst, 0), old)
	VPMAXUD(old, one.AsX(), old)
	VMOVD(old, at(dst, 0))
	ADDQ(U8(4), dst)
	ADDQ(stride, x)
	amd64.Repeat("row", rows)
	amd64.End()
}

func (m machine) encodeRows() {
	m.Begin("encodeRows", "(dst *int8, step int, sums *int32, x *float32, stride int, factors *float32, rows, sixteens int)",
		"writes x·factor rounded to bytes for rows of 16·sixteens elements, and adds the bytes of a row to its sum.")
	dst, step, sums := amd64.Argument("dst"), amd64.Argument("step"), amd64.Argument("sums")
	x, stride, factors, rows := amd64.Argument("x"), bytes("stride"), amd64.Argument("factors"), amd64.Argument("rows")
	Label("row")
	factor, sum := m.Broadcast(at(factors, 0)), m.Vec()
	m.Clear(sum)
	row, to, left := copyOf(x), copyOf(dst), amd64.Argument("sixteens")
	Label("sixteen")
	v := m.loadAll(m.vectors(), row)
	for i := range v {
		VMULPS(factor, v[i], v[i])
		VCVTPS2DQ(v[i], v[i])
		VPADDD(v[i], sum, sum)
	}
	if m.Wide {
		VPMOVSDB(v[0], at(to, 0))
	} else {
		VPACKSSDW(v[1], v[0], v[0]) // elements 0 … 3, 8 … 11, 4 … 7, 12 … 15
		VPERMQ(U8(0b11_01_10_00), v[0], v[0])
		upper := XMM()
		VEXTRACTI128(U8(1), v[0], upper)
		lower := v[0].(VecVirtual).AsX()
		VPACKSSWB(upper, lower, lower)
		VMOVDQU(lower, at(to, 0))
	}
	ADDQ(U32(4*lanes), row)
	ADDQ(U32(lanes), to)
	amd64.Repeat("sixteen", left)
	one, old := m.Fold(VPADDD, sum, m.Vec()).(VecVirtual), XMM()
	VMOVD(at(sums, 0), old)
	VPADDD(old, one.AsX(), old)
	VMOVD(old, at(sums, 0))
	ADDQ(U8(4), sums)
	ADDQ(U8(4), factors)
	ADDQ(step, dst)
	ADDQ(stride, x)
	amd64.Repeat("row", rows)
	amd64.End()
}

func (m machine) spanColumns() {
	m.Begin("spanColumns", "(dst *uint32, x *float32, stride, rows int)", "raises the 16 of dst to the bits of the largest |x| of a column.")
	dst, x, stride, rows := amd64.Argument("dst"), amd64.Argument("x"), bytes("stride"), amd64.Argument("rows")
	mask, most := m.operand(absolute()), m.loadAll(m.vectors(), dst)
	Label("row")
	for i, v := range m.loadAll(m.vectors(), x) {
		m.and(mask, v, v)
		VPMAXUD(v, most[i], most[i])
	}
	ADDQ(stride, x)
	amd64.Repeat("row", rows)
	m.storeAll(most, dst)
	amd64.End()
}

func (m machine) encodeColumns() {
	m.Begin("encodeColumns", "(dst *int8, sums *int32, x *float32, stride int, factors *float32, groups int)",
		"writes x·factor rounded to bytes for 4·groups rows of 16 elements, four bytes of a column side by side, and adds the bytes of a column to its sum.")
	dst, x, stride, groups := amd64.Argument("dst"), amd64.Argument("x"), bytes("stride"), amd64.Argument("groups")
	three := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	n := m.vectors()
	sums, factors := m.loadAll(n, amd64.Argument("sums")), m.loadAll(n, amd64.Argument("factors"))
	order, ones := m.register(interleave()), m.register(constant("ones", 0x01010101))
	Label("group")
	rows := []Mem{{Base: x}, {Base: x, Index: stride, Scale: 1}, {Base: x, Index: stride, Scale: 2}, {Base: x, Index: three, Scale: 1}}
	for i := range n {
		v := m.Vecs(4)
		for r, from := range rows {
			VMULPS(from.Offset(i*m.Width()), factors[i], v[r])
			VCVTPS2DQ(v[r], v[r])
		}
		VPACKSSDW(v[1], v[0], v[0])
		VPACKSSDW(v[3], v[2], v[2])
		VPACKSSWB(v[2], v[0], v[0])
		VPSHUFB(order, v[0], v[0])
		m.store(v[0], at(dst, i*m.Width()))
		if m.Wide {
			amd64.PlusBytes(v[0], ones, sums[i])
			continue
		}
		VPMADDUBSW(v[0], ones, v[0])
		VPMADDWD(words("wordOnes", 1), v[0], v[0])
		VPADDD(v[0], sums[i], sums[i])
	}
	ADDQ(U32(lanes*groupBytes), dst)
	LEAQ(Mem{Base: x, Index: stride, Scale: 4}, x)
	amd64.Repeat("group", groups)
	m.storeAll(sums, amd64.Argument("sums"))
	amd64.End()
}

// transpose takes as many rows at a time as a vector has groups of four bytes, and as many groups.
func (m machine) transpose() {
	m.Begin("transpose", "(dst *uint8, step int, codes *int8, row, groups int)",
		"writes the groups of four bytes of 16 rows, plus 128, those at the same place side by side and step bytes from one place to the next. It reads up to 63 bytes behind a row.")
	n := m.Lanes()
	step, row := amd64.Argument("step"), amd64.Argument("row")
	for part := range m.vectors() {
		label := fmt.Sprintf("part%d", part)
		dst, codes, left := amd64.Argument("dst"), amd64.Argument("codes"), amd64.Argument("groups")
		if part > 0 {
			ADDQ(U32(part*m.Width()), dst)
			skip := GP64()
			IMUL3Q(U32(part*n), row, skip)
			ADDQ(skip, codes)
		}
		Label(label)
		from := copyOf(codes)
		x := m.Registers()[:n]
		for _, v := range x {
			m.load(at(from, 0), v)
			m.Xor(constant("signs", 0x80808080), v, v)
			ADDQ(row, from)
		}
		x, _ = m.Transpose(x, m.Registers()[n:])
		for _, v := range x {
			m.store(v, at(dst, 0))
			ADDQ(step, dst)
			DECQ(left)
			JZ(LabelRef(label + "Done"))
		}
		ADDQ(U32(m.Width()), codes)
		JMP(LabelRef(label))
		Label(label + "Done")
	}
	amd64.End()
}

// widen writes bytes as 16 bits in the order in which pairs are multiplied.
func (m machine) widen() {
	m.Begin("widen", "(dst, src *int8, sixteens int)", "writes 16·sixteens bytes as words, of each four the first, the third, the second and the fourth.")
	dst, src, left := amd64.Argument("dst"), amd64.Argument("src"), amd64.Argument("sixteens")
	v := m.Vec()
	Label("sixteen")
	VPMOVSXBW(at(src, 0), v)
	VPSHUFLW(U8(0b11_01_10_00), v, v)
	VPSHUFHW(U8(0b11_01_10_00), v, v)
	m.store(v, at(dst, 0))
	ADDQ(U32(lanes), src)
	ADDQ(U32(2*lanes), dst)
	amd64.Repeat("sixteen", left)
	amd64.End()
}
