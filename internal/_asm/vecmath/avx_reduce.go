package vecmath

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// fold combines the elements of v into one, the first of the result.
func (m avx) fold(combine func(ops ...Op), v Op) Register {
	return m.Fold(combine, v.(VecVirtual), YMM())
}

func (m avx) returns(x Register) {
	VZEROUPPER()
	Store(x, ReturnIndex(0))
	RET()
}

func (m avx) returnLargest(v Op) { m.returns(m.fold(m.Machine.Max, v)) }

func (m avx) returnPlace(acc, minusInf Op, n Register, sums func(b position[Op, Register]) []Op) {
	best := m.fold(m.Machine.Max, acc)
	lowest := XMM()
	of(m, func(a, b Op) { VMOVSS(a, b) }, func(a, b Op) { VMOVSD(a, b) })(m.memory(m.Bits(math.Inf(-1))), lowest)
	of(m, VUCOMISS, VUCOMISD)(lowest, best)
	JEQ(LabelRef("none"))
	peak := m.Broadcast(best)
	bits := GP32()
	at := m.loop("search", n, 1, func(b position[Op, Register]) {
		m.moveMask(m.equal(sums(b)[0], peak), bits)
		TESTL(bits, bits)
		JNZ(LabelRef("found"))
	})
	Label("none")
	MOVQ(I32(-1), at)
	Store(at, ReturnIndex(0))
	m.End()
	Label("found")
	BSFL(bits, bits)
	SHRQ(U8(m.Shift()), at)
	ADDQ(bits.As64(), at)
	Store(at, ReturnIndex(0))
	m.End()
}

// partial is the number of partial sums of a sum of products.
const partial = 32

func (m avx) sumOfProducts(name, signature, doc string) {
	m.Begin(name, signature, doc)
	x := m.Argument("x")
	operands := []Register{x}
	if name == "dot" {
		operands = append(operands, m.Argument("y"))
	}
	n := m.Argument("n")
	d := m // whose elements are float64
	d.Size, d.Log = 8, 2
	if d.Wide {
		d.Log = 3
	}
	acc := make([]Op, partial>>d.Log)
	for i := range acc {
		acc[i] = d.Zero()
	}
	at := func(p Register, i int) Mem { return Mem{Base: p, Disp: i * m.Size << d.Log} }
	add := func(load func(p Register) Op, acc Op) {
		v := load(x)
		w := v
		for _, y := range operands[1:] {
			w = load(y)
		}
		if m.Size == 4 { // products of float32 are exact in float64
			d.AddMul(v, w, acc)
			return
		}
		VMULPD(w, v, v)
		VADDPD(v, acc, acc)
	}
	vector := func(i int) func(p Register) Op {
		return func(p Register) Op {
			v := d.Vec()
			of(m, VCVTPS2PD, VMOVUPD)(at(p, i), v)
			return v
		}
	}
	SUBQ(U32(partial), n)
	JLT(LabelRef("end"))
	Label("block")
	for i := range acc {
		add(vector(i), acc[i])
	}
	for _, p := range operands {
		ADDQ(U32(partial*m.Size), p)
	}
	SUBQ(U32(partial), n)
	JGE(LabelRef("block"))
	Label("end")
	ADDQ(U32(partial), n)
	for i := range acc {
		more := fmt.Sprintf("more%d", i)
		CMPQ(n, U32(1<<d.Log))
		JGE(LabelRef(more))
		add(func(p Register) Op { return m.doubles(d, at(p, i), n) }, acc[i])
		JMP(LabelRef("sum"))
		Label(more)
		add(vector(i), acc[i])
		SUBQ(U32(1<<d.Log), n)
	}
	Label("sum")
	for h := len(acc) / 2; h > 0; h /= 2 {
		for i := range h {
			VADDPD(acc[i+h], acc[i], acc[i])
		}
	}
	d.returns(d.fold(VADDPD, acc[0]))
}

// doubles returns the first left elements at from as a vector of d, whose others are 0.
func (m avx) doubles(d avx, from Mem, left Register) Op {
	v := d.Vec()
	switch {
	case m.Wide:
		of(m, VCVTPS2PD_Z, VMOVUPD_Z)(from, d.firstLanes(left), v)
	case m.Size == 4:
		x := XMM()
		VMASKMOVPS(from, m.edgeAt(left, XMM()), x)
		VCVTPS2PD(x, v)
	default:
		VMASKMOVPD(from, d.edgeAt(left, d.Vec()), v)
	}
	return v
}
