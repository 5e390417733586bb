package planerot

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// enter transposes squares of as many rows and columns as a vector has lanes in registers.
func (m machine) enter() {
	m.Begin("enter", "(block *T, step int, x *T, stride, rows, cols int)",
		"writes column j of the rows of x at block + j·step, with the last row in place of those beyond it and zeros in place of columns beyond cols of the last square.")
	block, step := amd64.Argument("block"), amd64.Argument("step")
	rows := m.rowPointers(amd64.Argument("x"))
	m.squares(func(at, lanes Register) {
		x, free := m.square()
		read := func(src, dst Op) { m.Move(src, dst) }
		if lanes != nil {
			mask := m.Mask(lanes, free[0])
			read = func(src, dst Op) { m.LoadMasked(mask, src, dst) }
		}
		for i, v := range x {
			read(Mem{Base: rows.load(i), Index: at, Scale: 1}, v)
		}
		x, _ = m.Transpose(x, free)
		for _, v := range x {
			m.Move(v, Mem{Base: block})
			ADDQ(step, block)
		}
	})
}

func (m machine) leave() {
	m.Begin("leave", "(block *T, step int, y *T, stride, rows, cols int)",
		"writes the vectors at block + j·step as column j < cols of the rows of y. Lanes beyond rows repeat the last row: the same bits go there again.")
	block, step := amd64.Argument("block"), amd64.Argument("step")
	rows := m.rowPointers(amd64.Argument("y"))
	m.squares(func(at, lanes Register) {
		x, free := m.square()
		for _, v := range x {
			m.Move(Mem{Base: block}, v)
			ADDQ(step, block)
		}
		x, free = m.Transpose(x, free)
		write := func(src, dst Op) { m.Move(src, dst) }
		if lanes != nil {
			mask := m.Mask(lanes, free[0])
			write = func(src, dst Op) { m.StoreMasked(mask, src, dst) }
		}
		for i, v := range x {
			write(v, Mem{Base: rows.load(i), Index: at, Scale: 1})
		}
	})
}

// squares writes a loop over the argument cols, a vector at a time, in bytes, then
// once more for the columns left, if any. Only then lanes, their number, is not nil.
func (m machine) squares(body func(at, lanes Register)) {
	cols, at := amd64.Argument("cols"), GP64()
	XORQ(at, at)
	SUBQ(U8(m.Lanes()), cols)
	JL(LabelRef("rest"))
	Label("loop")
	body(at, nil)
	ADDQ(U8(m.Width()), at)
	SUBQ(U8(m.Lanes()), cols)
	JGE(LabelRef("loop"))
	Label("rest")
	ADDQ(U8(m.Lanes()), cols)
	JZ(LabelRef("done"))
	body(at, cols)
	Label("done")
	amd64.End()
}

// pointers is a table of addresses on the stack.
type pointers struct{ table Mem }

// rowPointers writes a table of the addresses of as many rows as a vector has lanes. The last row
// stands for those beyond it.
func (m machine) rowPointers(x GPVirtual) pointers {
	p := pointers{AllocLocal(8 * m.Lanes())}
	stride, rows := amd64.Argument("stride"), amd64.Argument("rows")
	MOVQ(x, p.table)
	for i := 1; i < m.Lanes(); i++ {
		next := GP64()
		LEAQ(Mem{Base: x, Index: stride, Scale: 1}, next)
		CMPQ(rows, U8(i))
		CMOVQGT(next, x)
		MOVQ(x, p.table.Offset(8*i))
	}
	return p
}

func (p pointers) load(i int) Register {
	row := GP64()
	MOVQ(p.table.Offset(8*i), row)
	return row
}

func (m machine) square() (x, free []VecPhysical) {
	n, all := m.Lanes(), m.Registers()
	return all[:n], all[n : 2*n]
}
