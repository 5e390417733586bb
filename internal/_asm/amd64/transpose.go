package amd64

import (
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Transpose transposes a square of vectors, from the smallest blocks to the largest, with at least
// one other register, and returns where the square is then and which registers are free.
func (m Machine) Transpose(x, free []VecPhysical) (transposed, left []VecPhysical) {
	n := len(x)
	x, free = slices.Clone(x), slices.Clone(free)
	step := func(h int, low, high func(b, a, d Op)) {
		for i := range n {
			if i&h == 0 {
				low(x[i+h], x[i], free[0])
				high(x[i+h], x[i], x[i+h])
				x[i], free = free[0], append(free[1:], x[i])
			}
		}
	}
	h := 1
	if m.Size == 4 {
		step(h, func(b, a, d Op) { VUNPCKLPS(b, a, d) }, func(b, a, d Op) { VUNPCKHPS(b, a, d) })
		h *= 2
	}
	step(h, func(b, a, d Op) { VUNPCKLPD(b, a, d) }, func(b, a, d Op) { VUNPCKHPD(b, a, d) })
	for h *= 2; h < n; h *= 2 {
		if m.Wide {
			step(h, func(b, a, d Op) { VSHUFF64X2(U8(0x88), b, a, d) }, func(b, a, d Op) { VSHUFF64X2(U8(0xdd), b, a, d) })
		} else {
			step(h, func(b, a, d Op) { VPERM2F128(U8(0x20), b, a, d) }, func(b, a, d Op) { VPERM2F128(U8(0x31), b, a, d) })
		}
	}
	if m.Size == 4 {
		for g := 0; g < n; g += 4 { // the two kinds of unpacking leave them so
			x[g+1], x[g+2] = x[g+2], x[g+1]
		}
	}
	return x, free
}
