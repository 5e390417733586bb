package vecmath

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// pick writes the function that gathers elements. It takes whole vectors.
func (m avx) pick() {
	m.Begin("pick", "(dst, x *T, at *int32, a *T, count int)",
		"sets dst[k] = a[k]·x[at[k]] for count vectors.")
	dst, x, at, a, count := m.Argument("dst"), m.Argument("x"), m.Argument("at"), m.Argument("a"), m.Argument("count")
	var all Register
	if !m.Wide {
		all = YMM()
		VPCMPEQD(all, all, all)
	}
	Label("vectors")
	// One index a number, of 32 bits.
	var index VecVirtual
	switch m.Lanes() {
	case 4:
		index = XMM()
	case 8:
		index = YMM()
	default:
		index = ZMM()
	}
	if m.Wide {
		VMOVDQU32(Mem{Base: at}, index)
	} else {
		VMOVDQU(Mem{Base: at}, index)
	}
	v, from := m.Vec(), Mem{Base: x, Index: index, Scale: uint8(m.Size)}
	if m.Wide {
		chosen := K()
		KXNORW(chosen, chosen, chosen)
		m.Machine.Xor(v, v, v) // does not wait for what the register held
		of(m, VGATHERDPS, VGATHERDPD)(from, chosen, v)
	} else {
		chosen := YMM()
		VMOVDQA(all, chosen)
		m.Machine.Xor(v, v, v)
		of(m, VGATHERDPS, VGATHERDPD)(chosen, from, v)
	}
	m.Mul(v, Mem{Base: a}, v)
	m.Move(v, Mem{Base: dst})
	ADDQ(U32(4*m.Lanes()), at)
	ADDQ(U32(m.Width()), a)
	ADDQ(U32(m.Width()), dst)
	m.Repeat("vectors", count)
	m.End()
}
