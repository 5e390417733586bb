package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// invert writes the inversion of a lower triangle of order 16 at most, for machines whose
// registers hold it: two vectors a row, of which the second is zero in the first rows.
func (m machine) invert() {
	const most = 16
	lanes := 1 << m.log
	name := "invert" + m.name
	unit := Symbol{Name: "unit" + m.name, Static: true}
	GLOBL(unit.Name, RODATA|NOPTR)
	for i := range 2 * most {
		var v float32
		if i == most {
			v = 1
		}
		if m.size == 4 {
			DATA(i*4, U32(math.Float32bits(v)))
		} else {
			DATA(i*8, U64(math.Float64bits(float64(v))))
		}
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n int, x *%[1]s, stride int, diag *%[1]s)", m.element()))
	Doc(fmt.Sprintf("%s replaces the lower triangle of order n ≤ %d at x with diagonal diag by its inverse.", name, most))
	Pragma("noescape")
	n, x := Load(Param("n"), GP64()), Load(Param("x"), GP64())
	stride, diag := Load(Param("stride"), GP64()), Load(Param("diag"), GP64())
	m.masks.set(m, n)
	if lanes < most {
		KSHIFTRW(U8(lanes), K1, K2)
	}
	units, from, one, zero := GP64(), GP64(), m.vectors[30], m.vectors[31]
	LEAQ(NewDataAddr(unit, 0), units)
	m.fill(Mem{Base: units, Disp: most * m.size}, one)
	m.zero(zero)
	// Column j of row i is in lane j%lanes of rows[i][j/lanes].
	var rows [most][]VecPhysical
	free := m.vectors
	MOVQ(x, from)
	for i := range most {
		CMPQ(n, U32(i))
		JEQ(LabelRef("store"))
		// Row i of the inverse X is (e_i − Σ_{l<i} t_il·X_l) / λ_i.
		for v := range i/lanes + 1 {
			rows[i] = append(rows[i], free[0])
			free = free[1:]
			m.move(Mem{Base: units, Disp: (most - i + v*lanes) * m.size}, rows[i][v])
		}
		for l := range i {
			for v, r := range rows[l] {
				m.subtract(Mem{Base: from, Disp: l * m.size}, r, rows[i][v])
			}
		}
		inverse := m.vectors[29]
		m.reciprocal(Mem{Base: diag, Disp: i * m.size}, one, inverse)
		for _, r := range rows[i] {
			m.mul(inverse, r, r)
		}
		ADDQ(stride, from)
	}
	Label("store")
	for i := range most {
		for v := range most / lanes {
			r := zero
			if v < len(rows[i]) {
				r = rows[i][v]
			}
			m.storeMasked(r, Mem{Base: x, Disp: v * m.width()}, []Register{K1, K2}[v])
		}
		ADDQ(stride, x)
		DECQ(n)
		JZ(LabelRef("done"))
	}
	Label("done")
	VZEROUPPER()
	RET()
}

// subtract computes dst −= a·b for an element a in memory.
func (m machine) subtract(a, b, dst Op) {
	if m.size == 4 {
		VFNMADD231PS_BCST(a, b, dst)
	} else {
		VFNMADD231PD_BCST(a, b, dst)
	}
}

// reciprocal sets all of dst to 1/a for an element a in memory.
func (m machine) reciprocal(a Op, one, dst VecPhysical) {
	x := dst.AsX()
	if m.size == 4 {
		VDIVSS(a, one.AsX(), x)
		VBROADCASTSS(x, dst)
	} else {
		VDIVSD(a, one.AsX(), x)
		VBROADCASTSD(x, dst)
	}
}

// storeMasked writes the lanes of a mask.
func (m machine) storeMasked(src, dst Op, mask Register) {
	if m.size == 4 {
		VMOVUPS(src, mask, dst)
	} else {
		VMOVUPD(src, mask, dst)
	}
}
