package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// machine is an instruction set and an element type: vectors of 1<<log elements
// of size bytes. A wide one has 32 registers and masks, any other 16 registers
// and operands in memory for constants.
type machine struct {
	name      string
	size, log int
	wide      bool
}

func (m machine) single() bool { return m.size == 4 }
func (m machine) width() int   { return m.size << m.log }
func (m machine) shift() int   { return of(m, 2, 3) } // log2 of size

func (m machine) element() string { return fmt.Sprintf("float%d", 8*m.size) }

// of returns the value for the element type.
func of[V any](m machine, single, double V) V {
	if m.single() {
		return single
	}
	return double
}

func (m machine) vec() VecVirtual {
	if m.wide {
		return ZMM()
	}
	return YMM()
}

func (m machine) vecs(k int) []Op {
	v := make([]Op, k)
	for i := range v {
		v[i] = m.vec()
	}
	return v
}

// The operands of all instructions come in the order of Go's assembler: the
// destination is last, and a difference is the second less the first.

func (m machine) move(ops ...Op) { of(m, VMOVUPS, VMOVUPD)(ops...) }
func (m machine) add(ops ...Op)  { of(m, VADDPS, VADDPD)(ops...) }
func (m machine) sub(ops ...Op)  { of(m, VSUBPS, VSUBPD)(ops...) }
func (m machine) mul(ops ...Op)  { of(m, VMULPS, VMULPD)(ops...) }
func (m machine) div(ops ...Op)  { of(m, VDIVPS, VDIVPD)(ops...) }
func (m machine) min(ops ...Op)  { of(m, VMINPS, VMINPD)(ops...) }
func (m machine) max(ops ...Op)  { of(m, VMAXPS, VMAXPD)(ops...) }

// horner sets dst = dst·b + c.
func (m machine) horner(c, b, dst Op) {
	if c, ok := c.(scalar); ok {
		of(m, VFMADD213PS_BCST, VFMADD213PD_BCST)(c.Mem, b, dst)
		return
	}
	of(m, VFMADD213PS, VFMADD213PD)(c, b, dst)
}

// plus sets dst = dst + b·c.
func (m machine) plus(c, b, dst Op) { of(m, VFMADD231PS, VFMADD231PD)(c, b, dst) }

// minus sets dst = dst − b·c.
func (m machine) minus(c, b, dst Op) { of(m, VFNMADD231PS, VFNMADD231PD)(c, b, dst) }

// less sets dst = b·c − dst.
func (m machine) less(c, b, dst Op) { of(m, VFMSUB231PS, VFMSUB231PD)(c, b, dst) }

func (m machine) and(ops ...Op) { of(m, VANDPS, VANDPD)(ops...) }
func (m machine) or(ops ...Op)  { of(m, VORPS, VORPD)(ops...) }
func (m machine) xor(ops ...Op) { of(m, VXORPS, VXORPD)(ops...) }

func (m machine) addInt(ops ...Op) { of(m, VPADDD, VPADDQ)(ops...) }
func (m machine) subInt(ops ...Op) { of(m, VPSUBD, VPSUBQ)(ops...) }
func (m machine) left(ops ...Op)   { of(m, VPSLLD, VPSLLQ)(ops...) }
func (m machine) right(ops ...Op)  { of(m, VPSRLD, VPSRLQ)(ops...) }

// fraction is the number of bits of a significand without the first.
func (m machine) fraction() int { return of(m, 23, 52) }

// top is the number of the sign bit.
func (m machine) top() int { return 8*m.size - 1 }

// bits returns the bits of v rounded to an element.
func (m machine) bits(v float64) uint64 {
	if m.single() {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

var written = map[string]Mem{}

// memory returns the address of a vector of 32 bytes whose elements are bits.
func (m machine) memory(bits uint64) Mem {
	name := fmt.Sprintf("all%dx%0*x", 8*m.size, 2*m.size, bits)
	if at, ok := written[name]; ok {
		return at
	}
	GLOBL(name, RODATA|NOPTR)
	for i := 0; i < 32; i += m.size {
		if m.single() {
			DATA(i, U32(bits))
		} else {
			DATA(i, U64(bits))
		}
	}
	written[name] = NewDataAddr(Symbol{Name: name, Static: true}, 0)
	return written[name]
}

func (m machine) broadcast(from Op) Op {
	v := m.vec()
	of(m, VBROADCASTSS, VBROADCASTSD)(from, v)
	return v
}

// pattern returns an operand with bits in every element: a register if there
// are enough, otherwise memory.
func (m machine) pattern(bits uint64) Op {
	if m.wide {
		return m.broadcast(m.memory(bits))
	}
	return m.memory(bits)
}

// scalar is a number in memory that instructions of a wide machine put into every
// element on the way, for constants that do not fit the registers.
type scalar struct{ Mem }

// value returns an operand with v in every element.
func (m machine) value(v float64) Op { return m.pattern(m.bits(v)) }

// register returns a register with v in every element.
func (m machine) register(v float64) Op { return m.broadcast(m.memory(m.bits(v))) }

func (m machine) zero() Op {
	v := m.vec()
	m.xor(v, v, v)
	return v
}

func (m machine) values(v []float64) []Op {
	ops := make([]Op, len(v))
	for i := range v {
		ops[i] = m.value(v[i])
	}
	return ops
}

// scalars is values for a polynomial, without registers.
func (m machine) scalars(v []float64) []Op {
	if !m.wide {
		return m.values(v)
	}
	ops := make([]Op, len(v))
	for i := range v {
		ops[i] = scalar{m.memory(m.bits(v[i]))}
	}
	return ops
}

// signBit returns an operand with the sign bit in every element.
func (m machine) signBit() Op { return m.pattern(1 << m.top()) }

// argument returns a register with the argument of that name in every element.
func (m machine) argument(name string) Op {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return m.broadcast(p.Addr)
}

// polynomial sets p[i] = c[0] + c[1]·x[i] + c[2]·x[i]² + …
func (m machine) polynomial(c, x []Op) (p []Op) {
	p = m.vecs(len(x))
	top := len(c) - 1
	for i := range p {
		if first, ok := c[top].(scalar); ok {
			of(m, VBROADCASTSS, VBROADCASTSD)(first.Mem, p[i])
		} else {
			m.move(c[top], p[i])
		}
	}
	for j := top - 1; j >= 0; j-- {
		for i := range p {
			m.horner(c[j], x[i], p[i])
		}
	}
	return p
}

// Predicates of comparisons, false for NaN but for differs.
const (
	equal   = U8(0x00)
	lessOne = U8(0x11)
	atMost  = U8(0x12)
	differs = U8(0x04)
	atLeast = U8(0x1d)
	greater = U8(0x1e)
)

// compare returns a mask of the elements where a and b are in the relation.
func (m machine) compare(relation U8, a, b Op) Op {
	var mask Op = K()
	if !m.wide {
		mask = m.vec()
	}
	of(m, VCMPPS, VCMPPD)(relation, b, a, mask)
	return mask
}

// choose sets dst = from where the mask is set.
func (m machine) choose(mask, from, dst Op) {
	if m.wide {
		m.move(from, mask, dst)
	} else {
		of(m, VBLENDVPS, VBLENDVPD)(mask, from, dst, dst)
	}
}
