package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// turn writes the rotations of a block with so many vectors to a coordinate.
// Products are rounded before they are added, as in the reference.
func (m machine) turn(vectors int) {
	m.begin(fmt.Sprintf("turn%d", vectors), "(block *T, turns *int32, count, step, i, j int)",
		fmt.Sprintf("rotates a block with %d vectors to a coordinate. The next of count rotations is step bytes after turns; its axes are at i and j.", vectors))
	block, turns, count, step := argument("block"), argument("turns"), argument("count"), argument("step")
	atI, atJ := argument("i"), argument("j")

	Label("loop")
	i, j := GP64(), GP64()
	MOVL(Mem{Base: turns, Index: atI, Scale: 1}, i.As32())
	MOVL(Mem{Base: turns, Index: atJ, Scale: 1}, j.As32())
	IMUL3Q(U32(vectors*m.width()), i, i)
	IMUL3Q(U32(vectors*m.width()), j, j)
	cos, sin := m.vector(), m.vector()
	m.fill(Mem{Base: turns, Disp: 8}, cos)
	m.fill(Mem{Base: turns, Disp: 8 + m.size}, sin)
	ADDQ(step, turns)
	for v := range vectors {
		u := Mem{Base: block, Index: i, Scale: 1, Disp: v * m.width()}
		w := Mem{Base: block, Index: j, Scale: 1, Disp: v * m.width()}
		x, y, cosX, sinY := m.vector(), m.vector(), m.vector(), m.vector()
		m.move(u, x)
		m.move(w, y)
		m.mul(x, cos, cosX)
		m.mul(y, sin, sinY)
		m.sub(sinY, cosX, cosX)
		m.move(cosX, u)
		m.mul(x, sin, x)
		m.mul(y, cos, y)
		m.add(y, x, x)
		m.move(x, w)
	}
	DECQ(count)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
