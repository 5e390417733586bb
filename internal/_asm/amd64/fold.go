package amd64

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Fold combines the upper half of the elements of v with the lower until one is left, which is the
// first element of the result. free is another register.
func (m Machine) Fold(combine func(ops ...Op), v, free Vec) Register {
	x, y := v.AsX(), v.AsY()
	upper := free.AsX()
	if m.Wide {
		VEXTRACTF64X4(U8(1), v.AsZ(), free.AsY())
		combine(free.AsY(), y, y)
	}
	VEXTRACTF128(U8(1), y, upper)
	combine(upper, x, x)
	VPERMILPD(U8(1), x, upper)
	combine(upper, x, x)
	if m.Size == 4 {
		VPERMILPS(U8(1), x, upper)
		combine(upper, x, x)
	}
	return x
}
