package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// machine is an instruction set and an element type: vectors of 1<<log elements
// of size bytes.
type machine struct {
	name    string
	size    int
	log     int
	vectors []VecPhysical
	vector  func() VecVirtual

	move  func(src, dst Op)
	fill  func(src, dst Op) // dst = src in every lane
	mul   func(b, a, dst Op)
	add   func(b, a, dst Op)
	sub   func(b, a, dst Op) // dst = a − b
	clear func(x Op)
	masks masks
}

// masks leave out the lanes beyond a number of them.
type masks interface {
	// constants writes what set reads.
	constants(m machine)
	// set returns the mask of n lanes. It may be in free.
	set(m machine, n Register, free VecPhysical) Op
	// load reads the lanes of the mask and sets the others to zero.
	load(m machine, mask, src, dst Op)
	// store writes the lanes of the mask.
	store(m machine, mask, src, dst Op)
}

func (m machine) lanes() int { return 1 << m.log }
func (m machine) width() int { return m.size << m.log }

func machines() []machine {
	ps := machine{
		size: 4,
		move: func(s, d Op) { VMOVUPS(s, d) }, fill: func(s, d Op) { VBROADCASTSS(s, d) },
		mul: func(b, a, d Op) { VMULPS(b, a, d) }, add: func(b, a, d Op) { VADDPS(b, a, d) }, sub: func(b, a, d Op) { VSUBPS(b, a, d) },
	}
	pd := machine{
		size: 8,
		move: func(s, d Op) { VMOVUPD(s, d) }, fill: func(s, d Op) { VBROADCASTSD(s, d) },
		mul: func(b, a, d Op) { VMULPD(b, a, d) }, add: func(b, a, d Op) { VADDPD(b, a, d) }, sub: func(b, a, d Op) { VSUBPD(b, a, d) },
	}
	wide := func(m machine, name string, log int) machine {
		m.name, m.log = name, log
		m.vectors = []VecPhysical{
			Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15,
			Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31,
		}
		m.vector = ZMM
		m.clear = func(x Op) { VPXORD(x, x, x) }
		m.masks = opmask{}
		return m
	}
	narrow := func(m machine, name string, log int) machine {
		m.name, m.log = name, log
		m.vectors = []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15}
		m.vector = YMM
		m.clear = func(x Op) { VPXOR(x, x, x) }
		m.masks = vectorMask{}
		return m
	}
	return []machine{
		wide(ps, "F32AVX512", 4), wide(pd, "F64AVX512", 3),
		narrow(ps, "F32AVX2", 3), narrow(pd, "F64AVX2", 2),
	}
}
