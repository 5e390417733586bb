package vecmath

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// of returns the value for the element type.
func of[V any](m machine, single, double V) V { return amd64.Of(m.Machine, single, double) }

// constants returns those for the element type.
func (m machine) constants(b minimax.Constants) []float64 { return of(m, b.Single, b.Double) }

// horner sets dst = dst·b + c.
func (m machine) horner(c, b, dst Op) {
	if c, ok := c.(scalar); ok {
		of(m, VFMADD213PS_BCST, VFMADD213PD_BCST)(c.Mem, b, dst)
		return
	}
	m.TimesPlus(c, b, dst)
}

// fraction is the number of bits of a significand without the first.
func (m machine) fraction() int { return of(m, 23, 52) }

// top is the number of the sign bit.
func (m machine) top() int { return 8*m.Size - 1 }

// written are the tables that were written, by name.
var written = map[string]Mem{}

// once returns the table of that name, which it writes if that is not done.
func once(name string, write func() Mem) Mem {
	if _, ok := written[name]; !ok {
		written[name] = write()
	}
	return written[name]
}

// memory returns the address of a vector of 32 bytes whose elements are bits.
func (m machine) memory(bits uint64) Mem {
	name := fmt.Sprintf("all%dx%0*x", 8*m.Size, 2*m.Size, bits)
	return once(name, func() Mem { return m.Table(name, 32/m.Size, func(int) uint64 { return bits }) })
}

// pattern returns an operand with bits in every element: a register if there
// are enough, otherwise memory.
func (m machine) pattern(bits uint64) Op {
	if m.Wide {
		return m.Broadcast(m.memory(bits))
	}
	return m.memory(bits)
}

// scalar is a number in memory that instructions of a wide machine put into every
// element on the way, for constants that do not fit the registers.
type scalar struct{ Mem }

// value returns an operand with v in every element.
func (m machine) value(v float64) Op { return m.pattern(m.Bits(v)) }

// register returns a register with v in every element.
func (m machine) register(v float64) Op { return m.Broadcast(m.memory(m.Bits(v))) }

func (m machine) zero() Op {
	v := m.Vec()
	m.Xor(v, v, v)
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
	if !m.Wide {
		return m.values(v)
	}
	ops := make([]Op, len(v))
	for i := range v {
		ops[i] = scalar{m.memory(m.Bits(v[i]))}
	}
	return ops
}

// signBit returns an operand with the sign bit in every element.
func (m machine) signBit() Op { return m.pattern(1 << m.top()) }

// argument returns a register with the argument of that name in every element.
func (m machine) argument(name string) Op { return m.Broadcast(amd64.Number(name)) }

// each calls an instruction for each element of operands that are slices, as many as the shortest
// has, with the other operands as they are.
func each[F func(ops ...Op) | func(c, b, dst Op)](instruction F, operands ...any) {
	n := math.MaxInt
	for _, o := range operands {
		if o, ok := o.([]Op); ok {
			n = min(n, len(o))
		}
	}
	for i := range n {
		var ops []Op
		for _, o := range operands {
			switch o := o.(type) {
			case []Op:
				ops = append(ops, o[i])
			case Op:
				ops = append(ops, o)
			}
		}
		switch f := any(instruction).(type) {
		case func(ops ...Op):
			f(ops...)
		case func(c, b, dst Op):
			f(ops[0], ops[1], ops[2])
		}
	}
}

// polynomial sets p[i] = c[0] + c[1]·x[i] + c[2]·x[i]² + …
func (m machine) polynomial(c, x []Op) (p []Op) {
	p = m.Vecs(len(x))
	top := len(c) - 1
	for i := range p {
		if first, ok := c[top].(scalar); ok {
			m.Fill(first.Mem, p[i])
		} else {
			m.Move(c[top], p[i])
		}
	}
	for j := top - 1; j >= 0; j-- {
		each(m.horner, c[j], x, p)
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
	if !m.Wide {
		mask = m.Vec()
	}
	of(m, VCMPPS, VCMPPD)(relation, b, a, mask)
	return mask
}

// choose sets dst = from where the mask is set.
func (m machine) choose(mask, from, dst Op) {
	if m.Wide {
		m.Move(from, mask, dst)
	} else {
		of(m, VBLENDVPS, VBLENDVPD)(mask, from, dst, dst)
	}
}
