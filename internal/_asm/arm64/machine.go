// Package arm64 is what the generators of arm64 kernels share: a writer of functions in the
// language of Go's assembler, whose registers it chooses, the instructions that this assembler does
// not know, and arithmetic for both element types.
//
// A kernel is written once. Its arithmetic comes as methods of a Machine, which return a register
// with the result:
//
//	sum := m.Add(m.Load(x, 0), m.Load(y, 0))
//
// Into says where the next result goes instead, for what a loop carries from one round to the next.
package arm64

import (
	"math"
)

// Machine is the vectors of ASIMD with an element type: Lanes elements of Size bytes.
type Machine struct {
	*File
	Name string // the end of the names of its functions
	Size int
	into *Vec
}

// Machines returns the machines of both element types, which write to a file.
func Machines(f *File) []Machine {
	return []Machine{{File: f, Name: "F32NEON", Size: 4}, {File: f, Name: "F64NEON", Size: 8}}
}

// Width is the number of bytes of a vector.
const Width = 16

// Width returns the number of bytes of a vector.
func (m Machine) Width() int { return Width }

// Lanes returns the number of elements of a vector.
func (m Machine) Lanes() int { return Width / m.Size }

// Shift returns the binary logarithm of the size of an element.
func (m Machine) Shift() int { return Of(m, 2, 3) }

// Element returns the element type.
func (m Machine) Element() string { return Of(m, "float32", "float64") }

// Of returns the value for the element type of m.
func Of[V any](m Machine, single, double V) V {
	if m.Size == 4 {
		return single
	}
	return double
}

// Bits returns the bits of v rounded to an element.
func (m Machine) Bits(v float64) uint64 {
	return Of(m, uint64(math.Float32bits(float32(v))), math.Float64bits(v))
}

// Into returns m with a register for the next result.
func (m Machine) Into(v Vec) Machine {
	m.into = &v
	return m
}

// to is Into with the register that is given, if any.
func (m Machine) to(into []Vec) Machine {
	if len(into) > 0 {
		return m.Into(into[0])
	}
	return m
}

// result returns the register of Into, or a new one.
func (m Machine) result() Vec {
	if m.into != nil {
		return *m.into
	}
	return m.Vec()
}
