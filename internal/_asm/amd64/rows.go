package amd64

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Row returns the address of row i of up to four. The registers at have the address of the first
// row, the bytes from row to row, and three times that, as far as i needs them.
func Row(i int, at ...Register) Mem {
	switch i {
	case 0:
		return Mem{Base: at[0]}
	case 3:
		return Mem{Base: at[0], Index: at[2], Scale: 1}
	}
	return Mem{Base: at[0], Index: at[1], Scale: uint8(i)}
}

// Triple returns three strides.
func Triple(stride Register) Register {
	triple := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, triple)
	return triple
}
