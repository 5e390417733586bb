package planerot

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// turn rounds products before they are added, as the reference does.
func (m machine) turn(vectors int) {
	m.Begin(fmt.Sprintf("turn%d", vectors), "(block *T, turns *int32, count, step, i, j int)",
		fmt.Sprintf("rotates a block with %d vectors to a coordinate. The next of count rotations is step bytes after turns; its axes are at i and j.", vectors))
	block, turns, count, step := amd64.Argument("block"), amd64.Argument("turns"), amd64.Argument("count"), amd64.Argument("step")
	atI, atJ := amd64.Argument("i"), amd64.Argument("j")

	Label("loop")
	i, j := GP64(), GP64()
	MOVL(Mem{Base: turns, Index: atI, Scale: 1}, i.As32())
	MOVL(Mem{Base: turns, Index: atJ, Scale: 1}, j.As32())
	IMUL3Q(U32(vectors*m.Width()), i, i)
	IMUL3Q(U32(vectors*m.Width()), j, j)
	cos, sin := m.Vec(), m.Vec()
	m.Fill(Mem{Base: turns, Disp: 8}, cos)
	m.Fill(Mem{Base: turns, Disp: 8 + m.Size}, sin)
	ADDQ(step, turns)
	for v := range vectors {
		u := Mem{Base: block, Index: i, Scale: 1, Disp: v * m.Width()}
		w := Mem{Base: block, Index: j, Scale: 1, Disp: v * m.Width()}
		x, y, cosX, sinY := m.Vec(), m.Vec(), m.Vec(), m.Vec()
		m.Move(u, x)
		m.Move(w, y)
		m.Mul(x, cos, cosX)
		m.Mul(y, sin, sinY)
		m.Sub(sinY, cosX, cosX)
		m.Move(cosX, u)
		m.Mul(x, sin, x)
		m.Mul(y, cos, y)
		m.Add(y, x, x)
		m.Move(x, w)
	}
	amd64.Repeat("loop", count)
	amd64.End()
}
