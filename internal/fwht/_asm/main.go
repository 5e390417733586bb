// Command _asm writes the amd64 kernels of package fwht.
//
//	go run -tags purego . -out ../fwht_amd64.s -stubs ../stubs_amd64.go -pkg fwht -terms ../terms.go
package main

import (
	"flag"
	"fmt"
	"log"
	"math"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// machine is an instruction set and an element type: vectors of 1<<log elements
// of size bytes, of which 1<<radix fit the registers with room to work.
type machine struct {
	name  string
	size  int
	log   int
	radix int
	vec   func() VecVirtual

	move     func(src, dst Op)
	add      func(b, a, dst Op) // dst = a + b
	sub      func(b, a, dst Op) // dst = a − b
	mul      func(b, a, dst Op) // dst = a·b
	fmadd    func(c, b, dst Op) // dst = b·c + dst
	fnmadd   func(c, b, dst Op) // dst = c − b·dst
	fnmsub   func(c, b, dst Op) // dst = −b·dst − c
	fill     func(src, dst Op)  // dst = src in every lane
	exchange []func(src, dst Op)

	// How instructions are interleaved: the vectors whose inner stages come
	// together, those of them that go in step, and the butterflies whose sums come
	// before their differences.
	together, inStep, group int

	narrower []machine // shorter vectors with as many registers, for few columns
}

func (m machine) width() int { return m.size << m.log }

func main() {
	terms := flag.String("terms", "", "`file` for the terms of the cores")
	flag.Parse()
	ConstraintExpr("!purego,!noasm")
	for _, m := range machines() {
		m.constants()
		for r := 0; r <= m.radix; r++ {
			m.base(r, false)
			m.base(r, true)
		}
		for s := 1; s < m.log; s++ {
			m.lanes(s)
		}
		for r := 3; r <= m.radix; r++ {
			m.pass(r)
		}
		m.times()
		m.combine()
		m.sums()
		for _, narrower := range m.narrower {
			for _, h := range cores {
				narrower.core(h, termsOf(h))
			}
		}
	}
	if err := writeTerms(*terms); err != nil {
		log.Fatal(err)
	}
	Generate()
}

func machines() []machine {
	zmm := func() VecVirtual { return ZMM() }
	ymm := func() VecVirtual { return YMM() }
	ps := machine{
		size: 4,
		move: func(s, d Op) { VMOVUPS(s, d) }, add: func(b, a, d Op) { VADDPS(b, a, d) },
		sub: func(b, a, d Op) { VSUBPS(b, a, d) }, mul: func(b, a, d Op) { VMULPS(b, a, d) },
		fmadd: func(c, b, d Op) { VFMADD231PS(c, b, d) }, fnmadd: func(c, b, d Op) { VFNMADD213PS(c, b, d) },
		fnmsub: func(c, b, d Op) { VFNMSUB213PS(c, b, d) },
		fill:   func(s, d Op) { VBROADCASTSS(s, d) },
	}
	pd := machine{
		size: 8,
		move: func(s, d Op) { VMOVUPD(s, d) }, add: func(b, a, d Op) { VADDPD(b, a, d) },
		sub: func(b, a, d Op) { VSUBPD(b, a, d) }, mul: func(b, a, d Op) { VMULPD(b, a, d) },
		fmadd: func(c, b, d Op) { VFMADD231PD(c, b, d) }, fnmadd: func(c, b, d Op) { VFNMADD213PD(c, b, d) },
		fnmsub: func(c, b, d Op) { VFNMSUB213PD(c, b, d) },
		fill:   func(s, d Op) { VBROADCASTSD(s, d) },
	}
	swap32 := func(s, d Op) { VPERMILPS(U8(0xb1), s, d) }
	pairs32 := func(s, d Op) { VPERMILPS(U8(0x4e), s, d) }
	swapHalves := func(s, d Op) { VPERM2F128(U8(0x01), s, s, d) }
	quarters := func(imm uint8) func(s, d Op) {
		return func(s, d Op) { VSHUFF64X2(U8(imm), s, s, d) }
	}

	f32wide, f64wide, f32, f64 := ps, pd, ps, pd
	f32wide.name, f32wide.log, f32wide.radix, f32wide.vec = "F32AVX512", 4, 4, zmm
	f32wide.exchange = []func(s, d Op){swap32, pairs32, quarters(0xb1), quarters(0x4e)}
	f64wide.name, f64wide.log, f64wide.radix, f64wide.vec = "F64AVX512", 3, 4, zmm
	f64wide.exchange = []func(s, d Op){func(s, d Op) { VPERMILPD(U8(0x55), s, d) }, quarters(0xb1), quarters(0x4e)}
	f32.name, f32.log, f32.radix, f32.vec = "F32AVX2", 3, 3, ymm
	f32.exchange = []func(s, d Op){swap32, pairs32, swapHalves}
	f64.name, f64.log, f64.radix, f64.vec = "F64AVX2", 2, 3, ymm
	f64.exchange = []func(s, d Op){func(s, d Op) { VPERMILPD(U8(0x05), s, d) }, swapHalves}
	for _, m := range []*machine{&f32wide, &f64wide} {
		m.together, m.inStep, m.group = 8, 4, 8
	}
	for _, m := range []*machine{&f32, &f64} {
		m.together, m.inStep, m.group = 4, 2, 2
	}
	cut := func(m machine, name string, log int, vec func() VecVirtual) machine {
		m.name, m.log, m.vec = name, log, vec
		return m
	}
	xmm := func() VecVirtual { return XMM() }
	f32wide.narrower = []machine{f32wide, cut(f32wide, "F32AVX512Y", 3, ymm), cut(f32wide, "F32AVX512X", 2, xmm)}
	f64wide.narrower = []machine{f64wide, cut(f64wide, "F64AVX512Y", 2, ymm), cut(f64wide, "F64AVX512X", 1, xmm)}
	f64wide.narrower[2].fill = func(s, d Op) { VMOVDDUP(s, d) }
	return []machine{f32wide, f64wide, f32, f64}
}

func (m machine) label(s int) string {
	return fmt.Sprintf("sign%d%s", s, strings.TrimRight(m.name, "XY"))
}

// constants writes the sign bit and, for each stage inside a vector, the vector that is −1 in the
// lanes of the differences and 1 in the others.
func (m machine) constants() {
	GLOBL("negative"+m.name, RODATA|NOPTR)
	if m.size == 4 {
		DATA(0, U32(1<<31))
	} else {
		DATA(0, U64(1<<63))
	}
	for s := range m.log {
		GLOBL(m.label(s), RODATA|NOPTR)
		for i := range 1 << m.log {
			v := 1.0
			if i>>s&1 == 1 {
				v = -1
			}
			if m.size == 4 {
				DATA(i*4, U32(math.Float32bits(float32(v))))
			} else {
				DATA(i*8, U64(math.Float64bits(v)))
			}
		}
	}
}
