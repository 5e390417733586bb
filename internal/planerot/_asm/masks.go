package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// opmask is a mask in a mask register.
type opmask struct{}

func (opmask) constants(machine) {}

func (opmask) set(_ machine, n Register, _ VecPhysical) Op {
	one, bits := GP64(), GP64()
	MOVQ(I32(-1), one)
	BZHIQ(n, one, bits)
	KMOVW(bits.As32(), K1)
	return K1
}

func (opmask) load(m machine, mask, src, dst Op) {
	if m.size == 4 {
		VMOVUPS_Z(src, mask, dst)
	} else {
		VMOVUPD_Z(src, mask, dst)
	}
}

func (opmask) store(m machine, mask, src, dst Op) {
	if m.size == 4 {
		VMOVUPS(src, mask, dst)
	} else {
		VMOVUPD(src, mask, dst)
	}
}

// vectorMask is a mask in a vector: the sign bits of its lanes.
type vectorMask struct{}

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
func (v vectorMask) set(m machine, n Register, free VecPhysical) Op {
	at, skip := GP64(), GP64()
	LEAQ(v.table(m), at)
	MOVQ(U32(1<<m.log), skip)
	SUBQ(n, skip)
	VMOVDQU(Mem{Base: at, Index: skip, Scale: uint8(m.size)}, free)
	return free
}

func (vectorMask) load(m machine, mask, src, dst Op) {
	if m.size == 4 {
		VMASKMOVPS(src, mask, dst)
	} else {
		VMASKMOVPD(src, mask, dst)
	}
}

func (vectorMask) store(m machine, mask, src, dst Op) {
	if m.size == 4 {
		VMASKMOVPS(src, mask, dst)
	} else {
		VMASKMOVPD(src, mask, dst)
	}
}
