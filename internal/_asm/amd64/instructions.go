package amd64

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
)

// Arithmetic of elements, each result rounded.

func (m Machine) Move(ops ...Op) { Of(m, VMOVUPS, VMOVUPD)(ops...) }
func (m Machine) Add(ops ...Op)  { Of(m, VADDPS, VADDPD)(ops...) }
func (m Machine) Sub(ops ...Op)  { Of(m, VSUBPS, VSUBPD)(ops...) }
func (m Machine) Mul(ops ...Op)  { Of(m, VMULPS, VMULPD)(ops...) }
func (m Machine) Div(ops ...Op)  { Of(m, VDIVPS, VDIVPD)(ops...) }
func (m Machine) Min(ops ...Op)  { Of(m, VMINPS, VMINPD)(ops...) }
func (m Machine) Max(ops ...Op)  { Of(m, VMAXPS, VMAXPD)(ops...) }

// The bits of elements.

func (m Machine) And(ops ...Op) { Of(m, VANDPS, VANDPD)(ops...) }
func (m Machine) Or(ops ...Op)  { Of(m, VORPS, VORPD)(ops...) }
func (m Machine) Xor(ops ...Op) { Of(m, VXORPS, VXORPD)(ops...) }

// Integers of the size of an element.

func (m Machine) AddInt(ops ...Op) { Of(m, VPADDD, VPADDQ)(ops...) }
func (m Machine) SubInt(ops ...Op) { Of(m, VPSUBD, VPSUBQ)(ops...) }
func (m Machine) Left(ops ...Op)   { Of(m, VPSLLD, VPSLLQ)(ops...) }
func (m Machine) Right(ops ...Op)  { Of(m, VPSRLD, VPSRLQ)(ops...) }

// Fused multiplication and addition, rounded once.

// Plus sets dst = dst + b·c.
func (m Machine) Plus(c, b, dst Op) { Of(m, VFMADD231PS, VFMADD231PD)(c, b, dst) }

// Minus sets dst = dst − b·c.
func (m Machine) Minus(c, b, dst Op) { Of(m, VFNMADD231PS, VFNMADD231PD)(c, b, dst) }

// TimesPlus sets dst = dst·b + c.
func (m Machine) TimesPlus(c, b, dst Op) { Of(m, VFMADD213PS, VFMADD213PD)(c, b, dst) }

// TimesFrom sets dst = c − dst·b.
func (m Machine) TimesFrom(c, b, dst Op) { Of(m, VFNMADD213PS, VFNMADD213PD)(c, b, dst) }

// TimesNegated sets dst = −dst·b − c.
func (m Machine) TimesNegated(c, b, dst Op) { Of(m, VFNMSUB213PS, VFNMSUB213PD)(c, b, dst) }

// Clear sets all bits to 0.
func (m Machine) Clear(x Op) {
	if m.Wide {
		VPXORD(x, x, x)
	} else {
		VPXOR(x, x, x)
	}
}

// Fill sets every element to src, an element in memory or the first of a register.
func (m Machine) Fill(src, dst Op) {
	if m.Size == 8 && m.Log == 1 {
		VMOVDDUP(src, dst)
	} else {
		Of(m, VBROADCASTSS, VBROADCASTSD)(src, dst)
	}
}

// Broadcast returns a register with src in every element.
func (m Machine) Broadcast(src Op) Op {
	v := m.Vec()
	m.Fill(src, v)
	return v
}

// PlusBytes sets dst = dst + Σ a·b over each four bytes, of which those of a have signs and those
// of b have none, in integers of 32 bits. a may be four bytes in memory for all lanes.
func PlusBytes(a, b, dst Op) { plusBytes(a, b, dst, "AVX512VL", "AVX512VNNI") }

// PlusBytesVEX is PlusBytes of registers of AVX2, with AVX-VNNI. [EncodeVEX] encodes it.
func PlusBytesVEX(a, b, dst Op) { plusBytes(a, b, dst, "AVXVNNI") }

func plusBytes(a, b, dst Op, isa ...string) {
	i := &ir.Instruction{
		Opcode:   "VPDPBUSD",
		Operands: []Op{a, b, dst},
		Inputs:   []Op{a, b, dst},
		Outputs:  []Op{dst},
		ISA:      isa,
	}
	if IsMem(a) {
		i.Suffixes = []string{"BCST"}
	}
	Instruction(i)
}
