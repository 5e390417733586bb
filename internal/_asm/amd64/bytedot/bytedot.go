// Package bytedot writes the amd64 kernels of package bytedot.
package bytedot

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// What package bytedot says of its layout: columns come sixteen at a time, in panels of four times
// as many or of sixteen, and inner indices in groups of four bytes.
const (
	lanes      = 16
	groupBytes = 4
)

// machine is a machine with the kernels as methods.
type machine struct{ amd64.Machine }

// Write writes all kernels.
func Write() {
	for _, i := range []int{0, 2} {
		m := machine{amd64.Machines[i]}
		m.Name = m.Name[3:]
		for _, sixteens := range []int{1, 4} {
			for _, e := range []epilogue{m.mul(), m.scores(), m.add()} {
				m.product(e, sixteens)
			}
		}
		m.raise()
		m.weigh()
		m.quantise()
		m.addTransposed()
		if !m.Wide {
			m.widen()
		}
	}
}

// vectors is the number of vectors of sixteen elements.
func (m machine) vectors() int { return lanes >> m.Log }

// at returns the address base + bytes.
func at(base Register, bytes int) Mem { return Mem{Base: base, Disp: bytes} }

// load and store move the bits of a vector.
func (m machine) load(src, dst Op) {
	if m.Wide {
		VMOVDQU32(src, dst)
	} else {
		VMOVDQU(src, dst)
	}
}

func (m machine) store(src, dst Op) { m.load(src, dst) }

// loadAll returns the vectors of sixteen elements, or of as many as v vectors have.
func (m machine) loadAll(v int, base Register) []Op {
	all := m.Vecs(v)
	for i := range all {
		m.load(at(base, i*m.Width()), all[i])
	}
	return all
}

func (m machine) storeAll(all []Op, base Register) {
	for i := range all {
		m.store(all[i], at(base, i*m.Width()))
	}
}

// spread sets every element to an integer in memory.
func spread(src, dst Op) { VPBROADCASTD(src, dst) }

// copyOf returns a register with the same value.
func copyOf(r Register) GPVirtual {
	c := GP64()
	MOVQ(r, c)
	return c
}

// bytes returns a register with an argument that counts elements of four bytes, in bytes.
func bytes(name string) GPVirtual {
	n := amd64.Argument(name)
	SHLQ(U8(2), n)
	return n
}

// table is constants in memory, by name.
var tables = map[string]Mem{}

// constant returns the address of 64 bytes that repeat a doubleword.
func constant(name string, bits uint32) Mem {
	if _, ok := tables[name]; !ok {
		GLOBL(name, RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(bits))
		}
		tables[name] = amd64.Static(name)
	}
	return tables[name]
}

// words repeats an integer of 16 bits.
func words(name string, v int16) Mem {
	return constant(name, uint32(uint16(v))*0x10001)
}

// operand returns constants as an operand: a register if there are enough, otherwise memory.
func (m machine) operand(c Mem) Op {
	if !m.Wide {
		return c
	}
	return m.register(c)
}

func (m machine) register(c Mem) Op {
	v := m.Vec()
	m.load(c, v)
	return v
}

// and sets dst = a ∧ b.
func (m machine) and(b, a, dst Op) {
	if m.Wide {
		VPANDD(b, a, dst)
	} else {
		VPAND(b, a, dst)
	}
}

// absolute returns constants without the sign bit.
func absolute() Mem { return constant("absolute", math.MaxInt32) }
