package matmul

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

func (m machine) pack(vectors int) {
	m.Begin(fmt.Sprintf("pack%d", vectors), "(k int, dst, b *T, stride, lanes int)",
		fmt.Sprintf("writes the first %d columns of k rows of B, zeros in place of those beyond lanes of the last %d.", vectors*m.Lanes(), m.Lanes()))
	k, dst := amd64.Argument("k"), amd64.Argument("dst")
	b, stride := amd64.Argument("b"), amd64.Argument("stride")
	mask := m.mask()
	Label("loop")
	for v := range vectors {
		x, address := m.vectors[v], Mem{Base: b, Disp: v * m.Width()}
		m.load(v == vectors-1, mask, address, x)
		m.Move(x, Mem{Base: dst, Disp: v * m.Width()})
	}
	ADDQ(stride, b)
	ADDQ(U32(vectors*m.Width()), dst)
	amd64.Repeat("loop", k)
	amd64.End()
}

func (m machine) packTransposed() {
	n := m.Lanes()
	m.Begin("packTransposed", "(count int, dst *T, next int, b *T, stride int)",
		fmt.Sprintf("writes column j of %[1]d rows of b at dst + j·next, for count·%[1]d columns.", n))
	count, dst, next := amd64.Argument("count"), amd64.Argument("dst"), amd64.Argument("next")
	b, stride := amd64.Argument("b"), amd64.Argument("stride")
	rows := m.rowsOf(b, stride, n)
	Label("loop")
	x := m.vectors[:n]
	for i, v := range x {
		m.Move(m.at(rows, stride, i), v)
	}
	x, _ = m.Transpose(x, m.vectors[n:])
	for _, v := range x {
		m.Move(v, Mem{Base: dst})
		ADDQ(next, dst)
	}
	for _, r := range rows {
		ADDQ(U32(m.Width()), r)
	}
	amd64.Repeat("loop", count)
	amd64.End()
}
