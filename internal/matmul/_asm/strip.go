package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// strip writes the product of so many rows of A and a panel of so many vectors
// of B. All sums stay in registers.
func (m machine) strip(rows, vectors int) {
	name := fmt.Sprintf("strip%dx%d%s", rows, vectors, m.name)
	TEXT(name, NOSPLIT, fmt.Sprintf("func(k int, a *%[1]s, row, col int, b *%[1]s, next int, c *%[1]s, stride int, alpha, beta %[1]s, lanes int)", m.element()))
	Doc(fmt.Sprintf("%s computes C = α·A·B + β·C for %d rows and %d columns.", name, rows, vectors<<m.log))
	Pragma("noescape")

	k := Load(Param("k"), GP64())
	row, col := Load(Param("row"), GP64()), Load(Param("col"), GP64())
	b, next := Load(Param("b"), GP64()), Load(Param("next"), GP64())
	a := m.rowsOf(Load(Param("a"), GP64()).(GPVirtual), row, rows)

	// The last registers are for factors: two by turns for A, the others for B.
	sums, factors := m.vectors[:rows*vectors], m.vectors[len(m.vectors)-4:]
	for _, s := range sums {
		m.zero(s)
	}
	TESTQ(k, k)
	JZ(LabelRef("done"))
	Label("loop")
	for v := range vectors {
		m.move(Mem{Base: b, Disp: v * m.width()}, factors[2+v])
	}
	ADDQ(next, b)
	for i := range rows {
		m.fill(m.at(a, row, i), factors[i%2])
		for v := range vectors {
			m.fmadd(factors[i%2], factors[2+v], sums[i*vectors+v])
		}
	}
	for _, base := range a {
		ADDQ(col, base)
	}
	DECQ(k)
	JNZ(LabelRef("loop"))
	Label("done")
	m.finish(rows, vectors, sums)
}

// rowsOf returns a pointer to every third row of a.
func (m machine) rowsOf(a GPVirtual, row Register, rows int) []Register {
	pointers := []Register{a}
	for i := 3; i < rows; i += 3 {
		next := GP64()
		LEAQ(Mem{Base: pointers[len(pointers)-1], Index: row, Scale: 2}, next)
		ADDQ(row, next)
		pointers = append(pointers, next)
	}
	return pointers
}

// at is row i, as rowsOf has made the pointers.
func (m machine) at(pointers []Register, row Register, i int) Mem {
	address := Mem{Base: pointers[i/3]}
	if i%3 > 0 {
		address.Index, address.Scale = row, uint8(i%3)
	}
	return address
}

// finish writes the sums, times α, plus β·C. C is not read when β = 0.
func (m machine) finish(rows, vectors int, sums []VecPhysical) {
	scratch := m.vectors[len(m.vectors)-4:]
	alpha, beta, old := scratch[1], scratch[2], scratch[3]
	alphaParam, err := Param("alpha").Resolve()
	if err != nil {
		panic(err)
	}
	betaParam, err := Param("beta").Resolve()
	if err != nil {
		panic(err)
	}
	m.masks.set(m, Load(Param("lanes"), GP64()))
	c, stride := Load(Param("c"), GP64()), Load(Param("stride"), GP64())
	m.fill(alphaParam.Addr, alpha)
	for _, s := range sums {
		m.mul(alpha, s, s)
	}
	bits := GP64()
	if m.size == 4 {
		MOVL(betaParam.Addr, bits.As32())
		SHLL(U8(1), bits.As32()) // −0 is zero too
	} else {
		MOVQ(betaParam.Addr, bits)
		SHLQ(U8(1), bits)
	}
	JZ(LabelRef("store"))
	m.fill(betaParam.Addr, beta)
	from := GP64()
	MOVQ(c, from)
	for i := range rows {
		for v := range vectors {
			address := Mem{Base: from, Disp: v * m.width()}
			if v == vectors-1 {
				m.masks.load(m, address, old)
			} else {
				m.move(address, old)
			}
			m.fmadd(old, beta, sums[i*vectors+v])
		}
		ADDQ(stride, from)
	}
	Label("store")
	for i := range rows {
		for v := range vectors {
			address := Mem{Base: c, Disp: v * m.width()}
			if v == vectors-1 {
				m.masks.store(m, sums[i*vectors+v], address)
			} else {
				m.move(sums[i*vectors+v], address)
			}
		}
		if i < rows-1 {
			ADDQ(stride, c)
		}
	}
	VZEROUPPER()
	RET()
}
