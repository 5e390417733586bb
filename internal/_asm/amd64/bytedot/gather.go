package bytedot

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// addTransposed takes as many columns of x at a time as a vector has elements, and as many rows.
func (m machine) addTransposed() {
	m.Begin("addTransposed", "(dst *float32, stride int, list *int32, x *float32, xStride, sixteens int)",
		"adds 16 columns of x, of 16·sixteens rows, to the rows of dst that the list says.")
	n := m.Lanes()
	dst, stride, list := amd64.Argument("dst"), bytes("stride"), amd64.Argument("list")
	x, xStride, left := amd64.Argument("x"), bytes("xStride"), GP64()
	MOVQ(U32(m.vectors()), left)
	Label("columns")
	to, from, blocks := copyOf(dst), copyOf(x), amd64.Argument("sixteens")
	if m.vectors() > 1 {
		SHLQ(U8(1), blocks)
	}
	Label("block")
	v := m.Registers()[:n]
	for _, v := range v {
		m.load(at(from, 0), v)
		ADDQ(xStride, from)
	}
	v, _ = m.Transpose(v, m.Registers()[n:])
	for j, v := range v {
		row := GP64()
		MOVLQSX(at(list, 4*j), row)
		IMULQ(stride, row)
		sum := Mem{Base: to, Index: row, Scale: 1}
		VADDPS(sum, v, v)
		VMOVUPS(v, sum)
	}
	ADDQ(U32(m.Width()), to)
	amd64.Repeat("block", blocks)
	ADDQ(U32(m.Width()), x)
	ADDQ(U32(4*n), list)
	amd64.Repeat("columns", left)
	amd64.End()
}
