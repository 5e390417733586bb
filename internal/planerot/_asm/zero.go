package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// zero writes the sum of 0·x, in four sums that come together at the end. They
// are 0 or NaN: order does not matter.
func (m machine) zero() {
	m.begin("zero", "(x *T, n int) T", "returns the sum of 0·x[i] over n elements: 0 or NaN.")
	x, n := argument("x"), argument("n")
	zero, sums, values := m.vectors[0], m.vectors[1:5], m.vectors[5:9]
	m.clear(zero)
	for _, s := range sums {
		m.clear(s)
	}
	loop := func(name string, vectors int) {
		Label(name)
		SUBQ(U8(vectors*m.lanes()), n)
		JL(LabelRef(name + "end"))
		for i := range vectors {
			m.mul(Mem{Base: x, Disp: i * m.width()}, zero, values[i])
			m.add(values[i], sums[i], sums[i])
		}
		ADDQ(I32(vectors*m.width()), x)
		JMP(LabelRef(name))
		Label(name + "end")
		ADDQ(U8(vectors*m.lanes()), n)
	}
	loop("four", len(sums))
	loop("one", 1)
	JZ(LabelRef("whole"))
	m.masks.load(m, m.masks.set(m, n, values[1]), Mem{Base: x}, values[0])
	m.mul(values[0], zero, values[0])
	m.add(values[0], sums[0], sums[0])
	Label("whole")
	m.add(sums[1], sums[0], sums[0])
	m.add(sums[3], sums[2], sums[2])
	m.add(sums[2], sums[0], sums[0])
	m.fold(sums[0], values[0])
	VZEROUPPER()
	Store(sums[0].AsX(), ReturnIndex(0))
	RET()
}

// fold adds the lanes of v into its first; free is another register.
func (m machine) fold(v, free VecPhysical) {
	if m.width() == 64 {
		VEXTRACTF64X4(U8(1), v, free.AsY())
		m.add(free.AsY(), v.AsY(), v.AsY())
	}
	x, y := v.AsX(), free.AsX()
	VEXTRACTF128(U8(1), v.AsY(), y)
	m.add(y, x, x)
	VPERMILPD(U8(1), x, y)
	m.add(y, x, x)
	if m.size == 4 {
		VPERMILPS(U8(1), x, y)
		m.add(y, x, x)
	}
}
