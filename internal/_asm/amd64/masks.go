package amd64

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// MaskTable writes what Mask reads: as many elements of ones as a vector has, and then of zeros.
func (m Machine) MaskTable() {
	if !m.Wide {
		m.Table("lanes"+m.Name, 2*m.Lanes(), func(i int) uint64 { return ^uint64(0) * uint64(1-i/m.Lanes()) })
	}
}

// Mask returns the mask of the first n elements: K1 or, where masks are vectors, free.
func (m Machine) Mask(n Register, free Op) Op {
	if m.Wide {
		one, bits := GP64(), GP64()
		MOVQ(I32(-1), one)
		BZHIQ(n, one, bits)
		KMOVW(bits.As32(), K1)
		return K1
	}
	at, skip := GP64(), GP64()
	LEAQ(Static("lanes"+m.Name), at)
	MOVQ(U32(m.Lanes()), skip)
	SUBQ(n, skip)
	VMOVDQU(Mem{Base: at, Index: skip, Scale: uint8(m.Size)}, free)
	return free
}

// LoadMasked reads the elements of a mask and sets the others to 0.
func (m Machine) LoadMasked(mask, src, dst Op) {
	if m.Wide {
		Of(m, VMOVUPS_Z, VMOVUPD_Z)(src, mask, dst)
	} else {
		Of(m, VMASKMOVPS, VMASKMOVPD)(src, mask, dst)
	}
}

// StoreMasked writes the elements of a mask.
func (m Machine) StoreMasked(mask, src, dst Op) {
	if m.Wide {
		m.Move(src, mask, dst)
	} else {
		Of(m, VMASKMOVPS, VMASKMOVPD)(src, mask, dst)
	}
}
