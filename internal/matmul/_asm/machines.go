package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func machines() []machine {
	ps := machine{
		size: 4,
		move: func(s, d Op) { VMOVUPS(s, d) }, fill: func(s, d Op) { VBROADCASTSS(s, d) },
		mul: func(b, a, d Op) { VMULPS(b, a, d) }, fmadd: func(c, b, d Op) { VFMADD231PS(c, b, d) },
	}
	pd := machine{
		size: 8,
		move: func(s, d Op) { VMOVUPD(s, d) }, fill: func(s, d Op) { VBROADCASTSD(s, d) },
		mul: func(b, a, d Op) { VMULPD(b, a, d) }, fmadd: func(c, b, d Op) { VFMADD231PD(c, b, d) },
	}
	wide := func(m machine, name string, log int) machine {
		m.name, m.log, m.rows = name, log, 14
		m.vectors = []VecPhysical{
			Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15,
			Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31,
		}
		m.zero = func(x Op) { VPXORD(x, x, x) }
		m.masks = opmask{}
		return m
	}
	narrow := func(m machine, name string, log int) machine {
		m.name, m.log, m.rows = name, log, 6
		m.vectors = []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15}
		m.zero = func(x Op) { VPXOR(x, x, x) }
		m.masks = vectorMask{Y12} // the registers of the factors, which are done with by then
		return m
	}
	return []machine{
		wide(ps, "F32AVX512", 4), wide(pd, "F64AVX512", 3),
		narrow(ps, "F32AVX2", 3), narrow(pd, "F64AVX2", 2),
	}
}

// opmask is a mask in a mask register.
type opmask struct{}

func (opmask) constants(machine) {}

func (opmask) set(_ machine, n Register) {
	one, bits := GP64(), GP64()
	MOVQ(I32(-1), one)
	BZHIQ(n, one, bits)
	KMOVW(bits.As32(), K1)
}

func (opmask) load(m machine, src, dst Op) {
	if m.size == 4 {
		VMOVUPS_Z(src, K1, dst)
	} else {
		VMOVUPD_Z(src, K1, dst)
	}
}

func (opmask) store(m machine, src, dst Op) {
	if m.size == 4 {
		VMOVUPS(src, K1, dst)
	} else {
		VMOVUPD(src, K1, dst)
	}
}

// vectorMask is a mask in a vector: the sign bits of its lanes.
type vectorMask struct{ x VecPhysical }

func (vectorMask) table(m machine) Mem {
	return NewDataAddr(Symbol{Name: "lanes" + m.name, Static: true}, 0)
}

func (vectorMask) constants(m machine) {
	GLOBL("lanes"+m.name, RODATA|NOPTR)
	for i := range 2 << m.log {
		var v uint64
		if i < 1<<m.log {
			v = 1<<64 - 1
		}
		if m.size == 4 {
			DATA(i*4, U32(v))
		} else {
			DATA(i*8, U64(v))
		}
	}
}

// set reads the table where n of its first lanes are left.
func (v vectorMask) set(m machine, n Register) {
	at, skip := GP64(), GP64()
	LEAQ(v.table(m), at)
	MOVQ(U32(1<<m.log), skip)
	SUBQ(n, skip)
	VMOVDQU(Mem{Base: at, Index: skip, Scale: uint8(m.size)}, v.x)
}

func (v vectorMask) load(m machine, src, dst Op) {
	if m.size == 4 {
		VMASKMOVPS(src, v.x, dst)
	} else {
		VMASKMOVPD(src, v.x, dst)
	}
}

func (v vectorMask) store(m machine, src, dst Op) {
	if m.size == 4 {
		VMASKMOVPS(src, v.x, dst)
	} else {
		VMASKMOVPD(src, v.x, dst)
	}
}
