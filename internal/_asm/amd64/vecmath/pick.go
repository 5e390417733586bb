package vecmath

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// pick writes the function that gathers elements. It takes whole vectors.
func (m machine) pick() {
	m.Begin("pick", "(dst, x *T, at *int32, a *T, count int)",
		"sets dst[k] = a[k]·x[at[k]] for count vectors.")
	dst, x, at, a, count := amd64.Argument("dst"), amd64.Argument("x"), amd64.Argument("at"), amd64.Argument("a"), amd64.Argument("count")
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
		m.Xor(v, v, v) // does not wait for what the register held
		of(m, VGATHERDPS, VGATHERDPD)(from, chosen, v)
	} else {
		chosen := YMM()
		VMOVDQA(all, chosen)
		m.Xor(v, v, v)
		of(m, VGATHERDPS, VGATHERDPD)(chosen, from, v)
	}
	m.Mul(Mem{Base: a}, v, v)
	m.Move(v, Mem{Base: dst})
	ADDQ(U32(4*m.Lanes()), at)
	ADDQ(U32(m.Width()), a)
	ADDQ(U32(m.Width()), dst)
	amd64.Repeat("vectors", count)
	amd64.End()
}
