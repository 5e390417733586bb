package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// pack writes a panel of so many vectors: rows of B, one after another.
func (m machine) pack(vectors int) {
	name := fmt.Sprintf("pack%d%s", vectors, m.name)
	TEXT(name, NOSPLIT, fmt.Sprintf("func(k int, dst, b *%s, stride, lanes int)", m.element()))
	Doc(fmt.Sprintf("%s writes the first %d columns of k rows of B, zeros in place of those beyond lanes of the last %d.", name, vectors<<m.log, 1<<m.log))
	Pragma("noescape")
	k, dst := Load(Param("k"), GP64()), Load(Param("dst"), GP64())
	b, stride := Load(Param("b"), GP64()), Load(Param("stride"), GP64())
	m.masks.set(m, Load(Param("lanes"), GP64()))
	Label("loop")
	for v := range vectors {
		x, address := m.vectors[v], Mem{Base: b, Disp: v * m.width()}
		if v == vectors-1 {
			m.masks.load(m, address, x)
		} else {
			m.move(address, x)
		}
		m.move(x, Mem{Base: dst, Disp: v * m.width()})
	}
	ADDQ(stride, b)
	ADDQ(U32(vectors*m.width()), dst)
	DECQ(k)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// unpack writes the rows of a panel of so many vectors to B.
func (m machine) unpack(vectors int) {
	name := fmt.Sprintf("unpack%d%s", vectors, m.name)
	TEXT(name, NOSPLIT, fmt.Sprintf("func(k int, b, src *%s, stride, lanes int)", m.element()))
	Doc(fmt.Sprintf("%s writes k rows of %d columns of a panel to B, but only lanes of the last %d.", name, vectors<<m.log, 1<<m.log))
	Pragma("noescape")
	k, b := Load(Param("k"), GP64()), Load(Param("b"), GP64())
	src, stride := Load(Param("src"), GP64()), Load(Param("stride"), GP64())
	m.masks.set(m, Load(Param("lanes"), GP64()))
	Label("loop")
	for v := range vectors {
		x, address := m.vectors[v], Mem{Base: b, Disp: v * m.width()}
		m.move(Mem{Base: src, Disp: v * m.width()}, x)
		if v == vectors-1 {
			m.masks.store(m, x, address)
		} else {
			m.move(x, address)
		}
	}
	ADDQ(U32(vectors*m.width()), src)
	ADDQ(stride, b)
	DECQ(k)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// packTransposed writes a vector of each of count times as many columns of B as a
// vector has lanes.
func (m machine) packTransposed() {
	name := "packTransposed" + m.name
	TEXT(name, NOSPLIT, fmt.Sprintf("func(count int, dst *%[1]s, next int, b *%[1]s, stride int)", m.element()))
	n := 1 << m.log
	Doc(fmt.Sprintf("%s writes column j of %d rows of b at dst + j·next, for count·%d columns.", name, n, n))
	Pragma("noescape")
	count, dst, next := Load(Param("count"), GP64()), Load(Param("dst"), GP64()), Load(Param("next"), GP64())
	b, stride := Load(Param("b"), GP64()), Load(Param("stride"), GP64())
	rows := m.rowsOf(b.(GPVirtual), stride, n)
	Label("loop")
	x := make([]VecPhysical, n)
	for i := range x {
		x[i] = m.vectors[i]
		m.move(m.at(rows, stride, i), x[i])
	}
	x = m.transpose(x, m.vectors[n:])
	for _, v := range x {
		m.move(v, Mem{Base: dst})
		ADDQ(next, dst)
	}
	for _, r := range rows {
		ADDQ(U32(m.width()), r)
	}
	DECQ(count)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// transpose transposes a square of vectors, from the smallest blocks to the
// largest. free are as many other registers.
func (m machine) transpose(x, free []VecPhysical) []VecPhysical {
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
	return x
}
