package vecmath

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// both returns the intersection of two masks.
func (m machine) both(a, b Op) Op {
	if m.Wide {
		KANDW(a, b, b)
	} else {
		m.And(a, b, b)
	}
	return b
}

// fold combines the elements of v into one, the first of the result.
func (m machine) fold(combine func(ops ...Op), v Op) Register {
	return m.Fold(combine, v.(VecVirtual), YMM())
}

// returns ends a function with a floating-point result.
func (m machine) returns(x Register) {
	VZEROUPPER()
	Store(x, ReturnIndex(0))
	RET()
}

// finite replaces v by vectors with −Inf instead of NaN and +Inf.
func (m machine) finite(v []Op, inf, minusInf Op) {
	for i := range v {
		mask := m.compare(lessOne, v[i], inf)
		kept := m.Vec()
		m.Move(minusInf, kept)
		m.choose(mask, v[i], kept)
		v[i] = kept
	}
}

// peak writes the largest finite element.
func (m machine) peak() {
	m.Begin("peak", "(x *T, n int) T", "returns the largest of n elements of x that is finite, or −Inf.")
	x, n := amd64.Argument("x"), amd64.Argument("n")
	inf, minusInf := m.value(math.Inf(1)), m.value(math.Inf(-1))
	acc := m.Vecs(4)
	each(m.Move, minusInf, acc)
	m.loop("block", n, len(acc), func(b block) {
		v := b.loadOr(x, minusInf)
		m.finite(v, inf, minusInf)
		each(m.Max, v, acc, acc)
	})
	m.largest(acc)
	m.returns(m.fold(m.Max, acc[0]))
}

// largest sets acc[0] to the largest of each element.
func (m machine) largest(acc []Op) {
	for h := len(acc) / 2; h > 0; h /= 2 {
		for i := range h {
			m.Max(acc[i+h], acc[i], acc[i])
		}
	}
}

// peakSum writes the place of the largest finite sum, which it looks for once the
// sum is known.
func (m machine) peakSum() {
	m.Begin("peakSum", "(x, a, b *T, n int) int", "returns the first index of the largest finite (x[i] + a[i]) + b[i] of n, or −1.")
	x, p, q, n := amd64.Argument("x"), amd64.Argument("a"), amd64.Argument("b"), amd64.Argument("n")
	inf, minusInf := m.value(math.Inf(1)), m.value(math.Inf(-1))
	sums := func(b block, v []Op) {
		for _, from := range []Register{p, q} {
			for i, w := range b.load(from) {
				m.Add(w, v[i], v[i])
			}
		}
	}
	acc := m.Vecs(2)
	each(m.Move, minusInf, acc)
	m.loop("block", n, len(acc), func(b block) {
		v := b.loadOr(x, minusInf)
		sums(b, v)
		m.finite(v, inf, minusInf)
		each(m.Max, v, acc, acc)
	})
	m.largest(acc)
	best := m.fold(m.Max, acc[0])
	lowest := XMM()
	of(m, func(a, b Op) { VMOVSS(a, b) }, func(a, b Op) { VMOVSD(a, b) })(m.memory(m.Bits(math.Inf(-1))), lowest)
	of(m, VUCOMISS, VUCOMISD)(lowest, best)
	JEQ(LabelRef("none"))
	peak := m.Broadcast(best)
	bits := GP32()
	at := m.loop("search", n, 1, func(b block) {
		v := b.load(x)
		sums(b, v)
		mask := m.compare(equal, v[0], peak)
		if m.Wide {
			KMOVW(mask, bits)
		} else {
			of(m, VMOVMSKPS, VMOVMSKPD)(mask, bits)
		}
		TESTL(bits, bits)
		JNZ(LabelRef("found"))
	})
	Label("none")
	MOVQ(I32(-1), at)
	Store(at, ReturnIndex(0))
	amd64.End()
	Label("found")
	BSFL(bits, bits)
	SHRQ(U8(m.Shift()), at)
	ADDQ(bits.As64(), at)
	Store(at, ReturnIndex(0))
	amd64.End()
}

// partial is the number of partial sums of a sum of products.
const partial = 32

// sumOfSquares writes the sum of the squares, in float64.
func (m machine) sumOfSquares() {
	m.Begin("sumOfSquares", "(x *T, n int) float64", "returns the sum of the squares of n elements, from 32 partial sums as the reference has them.")
	x, n := amd64.Argument("x"), amd64.Argument("n")
	m.sumOfProducts(x, x, n)
}

// dot writes the sum of the products, in float64.
func (m machine) dot() {
	m.Begin("dot", "(x *T, y *T, n int) float64", "returns the sum of the products of n elements, from 32 partial sums as the reference has them.")
	x, y, n := amd64.Argument("x"), amd64.Argument("y"), amd64.Argument("n")
	m.sumOfProducts(x, y, n)
}

// sumOfProducts writes the rest of sumOfSquares, for y = x, and of dot.
func (m machine) sumOfProducts(x, y, n Register) {
	d := m // whose elements are float64
	d.Size, d.Log = 8, 2
	if d.Wide {
		d.Log = 3
	}
	acc := d.Vecs(partial >> d.Log)
	each(d.Xor, acc, acc, acc)
	at := func(p Register, i int) Mem { return Mem{Base: p, Disp: i * m.Size << d.Log} }
	add := func(load func(p Register) Op, acc Op) {
		v := load(x)
		w := v
		if y != x {
			w = load(y)
		}
		if m.Size == 4 { // products of float32 are exact in float64
			d.Plus(w, v, acc)
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
	ADDQ(U32(partial*m.Size), x)
	if y != x {
		ADDQ(U32(partial*m.Size), y)
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

// doubles returns the first left elements at from as a vector of d, whose others
// are 0.
func (m machine) doubles(d machine, from Mem, left Register) Op {
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
