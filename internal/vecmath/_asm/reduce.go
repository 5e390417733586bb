package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// both returns the intersection of two masks.
func (m machine) both(a, b Op) Op {
	if m.wide {
		KANDW(a, b, b)
	} else {
		m.and(a, b, b)
	}
	return b
}

// fold combines the upper half of the elements with the lower until one is left,
// which is the first element of the result.
func (m machine) fold(combine func(ops ...Op), v Op) Register {
	y := v.(VecVirtual).AsY()
	if m.wide {
		upper := YMM()
		VEXTRACTF64X4(U8(1), v, upper)
		combine(upper, y, y)
	}
	x, upper := y.(Vec).AsX(), XMM()
	VEXTRACTF128(U8(1), y, upper)
	combine(upper, x, x)
	VPERMILPD(U8(1), x, upper)
	combine(upper, x, x)
	if m.single() {
		VPERMILPS(U8(1), x, upper)
		combine(upper, x, x)
	}
	return x
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
		kept := m.vec()
		m.move(minusInf, kept)
		m.choose(mask, v[i], kept)
		v[i] = kept
	}
}

// peak writes the largest finite element.
func (m machine) peak() {
	m.begin("peak", "(x *T, n int) T", "returns the largest of n elements of x that is finite, or −Inf.")
	x, n := pointer("x"), pointer("n")
	inf, minusInf := m.value(math.Inf(1)), m.value(math.Inf(-1))
	acc := m.vecs(4)
	for i := range acc {
		m.move(minusInf, acc[i])
	}
	m.loop("block", n, len(acc), func(b block) {
		v := b.loadOr(x, minusInf)
		m.finite(v, inf, minusInf)
		for i := range v {
			m.max(v[i], acc[i], acc[i])
		}
	})
	m.largest(acc)
	m.returns(m.fold(m.max, acc[0]))
}

// largest sets acc[0] to the largest of each element.
func (m machine) largest(acc []Op) {
	for h := len(acc) / 2; h > 0; h /= 2 {
		for i := range h {
			m.max(acc[i+h], acc[i], acc[i])
		}
	}
}

// peakSum writes the place of the largest finite sum, which it looks for once the
// sum is known.
func (m machine) peakSum() {
	m.begin("peakSum", "(x, a, b *T, n int) int", "returns the first index of the largest finite (x[i] + a[i]) + b[i] of n, or −1.")
	x, p, q, n := pointer("x"), pointer("a"), pointer("b"), pointer("n")
	inf, minusInf := m.value(math.Inf(1)), m.value(math.Inf(-1))
	sums := func(b block, v []Op) {
		for _, from := range []Register{p, q} {
			for i, w := range b.load(from) {
				m.add(w, v[i], v[i])
			}
		}
	}
	acc := m.vecs(2)
	for i := range acc {
		m.move(minusInf, acc[i])
	}
	m.loop("block", n, len(acc), func(b block) {
		v := b.loadOr(x, minusInf)
		sums(b, v)
		m.finite(v, inf, minusInf)
		for i := range v {
			m.max(v[i], acc[i], acc[i])
		}
	})
	m.largest(acc)
	best := m.fold(m.max, acc[0])
	lowest := XMM()
	of(m, func(a, b Op) { VMOVSS(a, b) }, func(a, b Op) { VMOVSD(a, b) })(m.memory(m.bits(math.Inf(-1))), lowest)
	of(m, VUCOMISS, VUCOMISD)(lowest, best)
	JEQ(LabelRef("none"))
	peak := m.broadcast(best)
	bits := GP32()
	at := m.loop("search", n, 1, func(b block) {
		v := b.load(x)
		sums(b, v)
		mask := m.compare(equal, v[0], peak)
		if m.wide {
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
	done()
	Label("found")
	BSFL(bits, bits)
	SHRQ(U8(m.shift()), at)
	ADDQ(bits.As64(), at)
	Store(at, ReturnIndex(0))
	done()
}

// partial is the number of partial sums of a sum of products.
const partial = 32

// sumOfSquares writes the sum of the squares, in float64.
func (m machine) sumOfSquares() {
	m.begin("sumOfSquares", "(x *T, n int) float64", "returns the sum of the squares of n elements, from 32 partial sums as the reference has them.")
	x, n := pointer("x"), pointer("n")
	m.sumOfProducts(x, x, n)
}

// dot writes the sum of the products, in float64.
func (m machine) dot() {
	m.begin("dot", "(x *T, y *T, n int) float64", "returns the sum of the products of n elements, from 32 partial sums as the reference has them.")
	x, y, n := pointer("x"), pointer("y"), pointer("n")
	m.sumOfProducts(x, y, n)
}

// sumOfProducts writes the rest of sumOfSquares, for y = x, and of dot.
func (m machine) sumOfProducts(x, y, n Register) {
	d := m // whose elements are float64
	d.size, d.log = 8, 2
	if d.wide {
		d.log = 3
	}
	acc := d.vecs(partial >> d.log)
	for i := range acc {
		d.xor(acc[i], acc[i], acc[i])
	}
	at := func(p Register, i int) Mem { return Mem{Base: p, Disp: i * m.size << d.log} }
	add := func(load func(p Register) Op, acc Op) {
		v := load(x)
		w := v
		if y != x {
			w = load(y)
		}
		VMULPD(w, v, v)
		VADDPD(v, acc, acc)
	}
	whole := func(i int) func(p Register) Op {
		return func(p Register) Op {
			v := d.vec()
			of(m, VCVTPS2PD, VMOVUPD)(at(p, i), v)
			return v
		}
	}
	SUBQ(U32(partial), n)
	JLT(LabelRef("end"))
	Label("block")
	for i := range acc {
		add(whole(i), acc[i])
	}
	ADDQ(U32(partial*m.size), x)
	if y != x {
		ADDQ(U32(partial*m.size), y)
	}
	SUBQ(U32(partial), n)
	JGE(LabelRef("block"))
	Label("end")
	ADDQ(U32(partial), n)
	for i := range acc {
		more := fmt.Sprintf("more%d", i)
		CMPQ(n, U32(1<<d.log))
		JGE(LabelRef(more))
		add(func(p Register) Op { return m.doubles(d, at(p, i), n) }, acc[i])
		JMP(LabelRef("sum"))
		Label(more)
		add(whole(i), acc[i])
		SUBQ(U32(1<<d.log), n)
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
	v := d.vec()
	switch {
	case m.wide:
		of(m, VCVTPS2PD_Z, VMOVUPD_Z)(from, d.firstLanes(left), v)
	case m.single():
		x := XMM()
		VMASKMOVPS(from, m.edgeAt(left, XMM()), x)
		VCVTPS2PD(x, v)
	default:
		VMASKMOVPD(from, d.edgeAt(left, d.vec()), v)
	}
	return v
}
