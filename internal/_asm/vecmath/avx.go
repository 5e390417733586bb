package vecmath

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/_asm/kernel"
)

// avx takes constants from registers on a wide machine, and from memory on any other.
type avx struct{ amd64.Vectors }

// WriteAMD64 writes the kernels of amd64.
func WriteAMD64() {
	for _, general := range amd64.Machines {
		m := avx{amd64.Vectors{Machine: general}}
		write[Op, Register](m)
	}
}

func of[V any](m avx, single, double V) V { return amd64.Of(m.Machine, single, double) }

var written = map[string]Mem{}

func once(name string, write func() Mem) Mem {
	if _, ok := written[name]; !ok {
		written[name] = write()
	}
	return written[name]
}

// memory returns the address of a vector of 32 bytes whose elements are bits.
func (m avx) memory(bits uint64) Mem {
	name := fmt.Sprintf("all%dx%0*x", 8*m.Size, 2*m.Size, bits)
	return once(name, func() Mem { return m.Table(name, 32/m.Size, func(int) uint64 { return bits }) })
}

func (m avx) Pattern(bits uint64) Op {
	if m.Wide {
		return m.Broadcast(m.memory(bits))
	}
	return m.memory(bits)
}

func (m avx) Value(v float64) Op    { return m.Pattern(m.Bits(v)) }
func (m avx) register(v float64) Op { return m.Broadcast(m.memory(m.Bits(v))) }
func (m avx) inRegister(v Op) Op    { return m.Move(v) }

// polynomial takes coefficients from registers on a wide machine, or broadcasts them from memory.
func (m avx) polynomial(c []float64, held bool) func(x []Op) []Op {
	operands := make([]Op, len(c))
	for i, v := range c {
		if operands[i] = m.memory(m.Bits(v)); held {
			operands[i] = m.Value(v)
		}
	}
	broadcast := m.Wide && !held
	return func(x []Op) []Op {
		p := m.Vecs(len(x))
		for j := len(c) - 1; j >= 0; j-- {
			for i := range p {
				switch {
				case j < len(c)-1 && broadcast:
					of(m, VFMADD213PS_BCST, VFMADD213PD_BCST)(operands[j], x[i], p[i])
				case j < len(c)-1:
					m.TimesPlus(operands[j], x[i], p[i])
				case broadcast:
					m.Fill(operands[j], p[i])
				default:
					m.Move(operands[j], p[i])
				}
			}
		}
		return p
	}
}

func (m avx) fused(a, b, c Op) Op {
	m.TimesPlus(c, b, a)
	return a
}

func (m avx) kept(c Op) Op { return c }

func (m avx) sqrt(v, into Op) { of(m, VSQRTPS, VSQRTPD)(v, into) }

func (m avx) scale() kernel.Operation[Op] {
	if !m.Wide {
		return nil
	}
	return func(a, b Op, into ...Op) Op {
		of(m, VSCALEFPS, VSCALEFPD)(b, a, into[0])
		return into[0]
	}
}

func (m avx) equal(a, b Op) Op   { return m.compare(0x00, a, b) }
func (m avx) atLeast(a, b Op) Op { return m.compare(0x1d, a, b) }
func (m avx) greater(a, b Op) Op { return m.compare(0x1e, a, b) }
func (m avx) below(a, b Op) Op   { return m.compare(0x11, a, b) }

func (m avx) compare(relation U8, a, b Op) Op {
	var mask Op = K()
	if !m.Wide {
		mask = m.Vec()
	}
	of(m, VCMPPS, VCMPPD)(relation, b, a, mask)
	return mask
}

func (m avx) both(a, b Op) Op {
	if m.Wide {
		KANDW(a, b, b)
		return b
	}
	return m.And(b, a, b)
}

func (m avx) signs(v Op) Op {
	if !m.Wide {
		return v
	}
	mask := K()
	of(m, VPMOVD2M, VPMOVQ2M)(v, mask)
	return mask
}

func (m avx) choose(mask, from, into Op) {
	if m.Wide {
		m.Machine.Move(from, mask, into)
	} else {
		of(m, VBLENDVPS, VBLENDVPD)(mask, from, into, into)
	}
}

// moveMask sets the lowest bits of an integer to a mask.
func (m avx) moveMask(mask, bits Op) {
	if m.Wide {
		KMOVW(mask, bits)
	} else {
		of(m, VMOVMSKPS, VMOVMSKPD)(mask, bits)
	}
}

// abs compares bits: the order of numbers ≥ 0 is the order of their bits.
func (m avx) abs(limit float64) func(x, into []Op) {
	others := m.Pattern(1<<(8*m.Size-1) - 1) // every bit but the sign
	bits := m.Bits(limit)
	if !m.Wide {
		bits -= of(m, uint64(1), 1<<32)
	}
	most := m.Pattern(bits)
	return func(x, into []Op) {
		kernel.Each(m.And, x, others, into)
		largest := into[0]
		for _, v := range into[1:] {
			next := m.Vec()
			if m.Wide {
				of(m, VPMAXUD, VPMAXUQ)(v, largest, next)
			} else {
				// In float64 the upper halves suffice, as the limit has no bits below.
				VPMAXUD(v, largest, next)
			}
			largest = next
		}
		if m.Wide {
			const notLess = U8(5)
			k := K()
			of(m, VPCMPUD, VPCMPUQ)(notLess, most, largest, k)
			KTESTW(k, k)
		} else {
			v, bits := m.Vec(), GP32()
			VPCMPGTD(most, largest, v)
			m.moveMask(v, bits)
			TESTL(bits, bits)
		}
		JNZ(LabelRef("stop"))
	}
}

func (m avx) end(n, place Register) {
	Store(n, ReturnIndex(0))
	m.End()
	Label("stop")
	SHRQ(U8(m.Shift()), place)
	Store(place, ReturnIndex(0))
	m.End()
}
