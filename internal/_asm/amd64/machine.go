// Package amd64 is what the generators of amd64 kernels share: machines, and instructions for both
// element types. Operands come in the order of Go's assembler: the destination is last, and a
// difference is the second less the first.
package amd64

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Machine is an instruction set and an element type: vectors of 1<<Log elements of Size bytes. A
// wide one has 32 registers and masks of its own, any other 16 registers and masks in vectors.
type Machine struct {
	Name      string // the end of the names of its functions
	Size, Log int
	Wide      bool
}

// Machines are all machines, each for both element types.
var Machines = []Machine{
	{"F32AVX512", 4, 4, true},
	{"F64AVX512", 8, 3, true},
	{"F32AVX2", 4, 3, false},
	{"F64AVX2", 8, 2, false},
}

// Lanes returns the number of elements of a vector.
func (m Machine) Lanes() int { return 1 << m.Log }

// Width returns the number of bytes of a vector.
func (m Machine) Width() int { return m.Size << m.Log }

// Shift returns the binary logarithm of the size of an element.
func (m Machine) Shift() int { return Of(m, 2, 3) }

// Element returns the element type.
func (m Machine) Element() string { return fmt.Sprintf("float%d", 8*m.Size) }

// Of returns the value for the element type of m.
func Of[V any](m Machine, single, double V) V {
	if m.Size == 4 {
		return single
	}
	return double
}

// Vec returns a register that the allocator chooses.
func (m Machine) Vec() VecVirtual {
	switch m.Width() {
	case 64:
		return ZMM()
	case 32:
		return YMM()
	}
	return XMM()
}

// Vecs returns n of them.
func (m Machine) Vecs(n int) []Op {
	v := make([]Op, n)
	for i := range v {
		v[i] = m.Vec()
	}
	return v
}

// Registers returns all vector registers, for kernels that choose theirs.
func (m Machine) Registers() []VecPhysical {
	if m.Wide {
		return []VecPhysical{
			Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15,
			Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31,
		}
	}
	return []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15}
}

// Bits returns the bits of v rounded to an element.
func (m Machine) Bits(v float64) uint64 {
	return Of(m, uint64(math.Float32bits(float32(v))), math.Float64bits(v))
}

// Table writes n elements, whose bits the function gives, and returns their address.
func (m Machine) Table(name string, n int, bits func(i int) uint64) Mem {
	GLOBL(name, RODATA|NOPTR)
	for i := 0; i < n; i += 8 / m.Size {
		switch {
		case m.Size == 8:
			DATA(8*i, U64(bits(i)))
		case i+1 < n:
			DATA(4*i, U64(uint64(uint32(bits(i)))|bits(i+1)<<32))
		default:
			DATA(4*i, U32(bits(i)))
		}
	}
	return Static(name)
}

// Static returns the address of a table.
func Static(name string) Mem { return NewDataAddr(Symbol{Name: name, Static: true}, 0) }
