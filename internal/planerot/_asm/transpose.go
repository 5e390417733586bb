package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// enter writes the way of rows into a block: squares of as many rows and columns
// as a vector has lanes, transposed in registers.
func (m machine) enter() {
	m.begin("enter", "(block *T, step int, x *T, stride, rows, cols int)",
		"writes column j of the rows of x at block + j·step, with the last row in place of those beyond it and zeros in place of columns beyond cols of the last square.")
	block, step := argument("block"), argument("step")
	rows := m.rowPointers(argument("x"))
	m.squares(func(at, lanes Register) {
		x, free := m.square()
		read := m.move
		if lanes != nil {
			mask := m.masks.set(m, lanes, free[0])
			read = func(src, dst Op) { m.masks.load(m, mask, src, dst) }
		}
		for i, v := range x {
			read(Mem{Base: rows.load(i), Index: at, Scale: 1}, v)
		}
		x, _ = m.transpose(x, free)
		for _, v := range x {
			m.move(v, Mem{Base: block})
			ADDQ(step, block)
		}
	})
}

// leave writes the way back.
func (m machine) leave() {
	m.begin("leave", "(block *T, step int, y *T, stride, rows, cols int)",
		"writes the vectors at block + j·step as column j < cols of the rows of y. Lanes beyond rows repeat the last row: the same bits go there again.")
	block, step := argument("block"), argument("step")
	rows := m.rowPointers(argument("y"))
	m.squares(func(at, lanes Register) {
		x, free := m.square()
		for _, v := range x {
			m.move(Mem{Base: block}, v)
			ADDQ(step, block)
		}
		x, free = m.transpose(x, free)
		write := m.move
		if lanes != nil {
			mask := m.masks.set(m, lanes, free[0])
			write = func(src, dst Op) { m.masks.store(m, mask, src, dst) }
		}
		for i, v := range x {
			write(v, Mem{Base: rows.load(i), Index: at, Scale: 1})
		}
	})
}

// squares writes a loop over the argument cols, a vector at a time, in bytes, then
// once more for the columns left, if any. Only then lanes, their number, is not nil.
func (m machine) squares(body func(at, lanes Register)) {
	cols, at := argument("cols"), GP64()
	XORQ(at, at)
	SUBQ(U8(m.lanes()), cols)
	JL(LabelRef("rest"))
	Label("loop")
	body(at, nil)
	ADDQ(U8(m.width()), at)
	SUBQ(U8(m.lanes()), cols)
	JGE(LabelRef("loop"))
	Label("rest")
	ADDQ(U8(m.lanes()), cols)
	JZ(LabelRef("done"))
	body(at, cols)
	Label("done")
	VZEROUPPER()
	RET()
}

// pointers is a table of addresses on the stack.
type pointers struct{ table Mem }

// rowPointers writes a table of the addresses of as many rows as a vector has
// lanes, from the arguments stride and rows; the last row stands for those beyond
// it.
func (m machine) rowPointers(x GPVirtual) pointers {
	p := pointers{AllocLocal(8 * m.lanes())}
	stride, rows := argument("stride"), argument("rows")
	MOVQ(x, p.table)
	for i := 1; i < m.lanes(); i++ {
		next := GP64()
		LEAQ(Mem{Base: x, Index: stride, Scale: 1}, next)
		CMPQ(rows, U8(i))
		CMOVQGT(next, x)
		MOVQ(x, p.table.Offset(8*i))
	}
	return p
}

// load returns a register with the address of row i.
func (p pointers) load(i int) Register {
	row := GP64()
	MOVQ(p.table.Offset(8*i), row)
	return row
}

// square returns registers for a square, and as many others.
func (m machine) square() (x, free []VecPhysical) {
	n := m.lanes()
	return m.vectors[:n:n], m.vectors[n : 2*n : 2*n]
}

// transpose transposes a square of vectors, from the smallest blocks to the
// largest, and returns where it is then and which registers are free.
func (m machine) transpose(x, free []VecPhysical) (transposed, left []VecPhysical) {
	n := len(x)
	step := func(h int, low, high func(b, a, d Op)) {
		y := make([]VecPhysical, n)
		for i := range n {
			if i&h == 0 {
				low(x[i+h], x[i], free[i])
				high(x[i+h], x[i], free[i+h])
				y[i], y[i+h] = free[i], free[i+h]
			}
		}
		x, free = y, x
	}
	h := 1
	if m.size == 4 {
		step(h, func(b, a, d Op) { VUNPCKLPS(b, a, d) }, func(b, a, d Op) { VUNPCKHPS(b, a, d) })
		h *= 2
	}
	step(h, func(b, a, d Op) { VUNPCKLPD(b, a, d) }, func(b, a, d Op) { VUNPCKHPD(b, a, d) })
	for h *= 2; h < n; h *= 2 {
		if m.width() == 64 {
			step(h, func(b, a, d Op) { VSHUFF64X2(U8(0x88), b, a, d) }, func(b, a, d Op) { VSHUFF64X2(U8(0xdd), b, a, d) })
		} else {
			step(h, func(b, a, d Op) { VPERM2F128(U8(0x20), b, a, d) }, func(b, a, d Op) { VPERM2F128(U8(0x31), b, a, d) })
		}
	}
	if m.size == 4 {
		for g := 0; g < n; g += 4 { // the two kinds of unpacking leave them so
			x[g+1], x[g+2] = x[g+2], x[g+1]
		}
	}
	return x, free
}
