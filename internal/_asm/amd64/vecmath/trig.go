package vecmath

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// cos writes the cosine. With h = floor(|x|/π) + ½ and r = hπ − |x|, |r| ≤ ½π, it
// is (−1)^(h−½)·sin r.
func (m machine) cos() {
	m.Begin("cos", "(dst, x *T, n int) int", "sets dst[i] = cos x[i] for n elements, or up to a block with an element that is not below the limit, and returns how many.")
	dst, x, n := amd64.Argument("dst"), amd64.Argument("x"), amd64.Argument("n")
	others, limit := m.others(), m.largeLimit()
	inverse := m.value(0x1.45f306dc9c883p-2)
	shift, half := m.value(of(m, 0x1.8p23, 0x1.8p52)), m.value(0.5)
	one := m.value(1)
	minusOne := m.memory(m.Bits(-1))
	pi := m.values(m.constants(minimax.Pi))
	coefficients := of(m, m.values, m.scalars)(m.constants(minimax.WideSine))
	at := m.loop("block", n, m.unroll(4, 4), func(b block) {
		r := b.load(x)
		each(m.And, others, r, r)
		m.stopIfLarge(r, limit, "stop")
		sum, h := m.Vecs(b.k), m.Vecs(b.k)
		if m.Wide {
			each(m.Move, shift, sum)
			each(of(m, VFMADD231PS_RD_SAE, VFMADD231PD_RD_SAE), inverse, r, sum)
		} else {
			for i := range r {
				m.Move(half, sum[i])
				of(m, VFMSUB231PS, VFMSUB231PD)(inverse, r[i], sum[i])
			}
			each(m.Add, shift, sum, sum)
		}
		each(m.Sub, shift, sum, h)
		each(m.Add, half, h, h)
		each(m.Less, pi[0], h, r)
		for _, term := range pi[1:] {
			each(m.Plus, term, h, r)
		}
		m.sine(coefficients, r, m.squares(r))
		// A result above 1 would be wrong by more of the smaller units below 1.
		if m.Wide {
			const smallerWithSign = U8(2)
			each(of(m, VRANGEPS, VRANGEPD), smallerWithSign, one, r, r)
		} else {
			for i := range r {
				m.Min(one, r[i], r[i])
				m.Max(minusOne, r[i], r[i])
			}
		}
		each(m.Left, U8(m.top()), sum, sum)
		each(m.Xor, sum, r, r)
		b.store(r, dst)
	})
	m.end(n, at)
}

// sincos writes both. With n = round(|x|/½π) and r = |x| − ½nπ, |r| ≤ ¼π, they
// are ± sin r and ± cos r, exchanged for odd n.
func (m machine) sincos() {
	m.Begin("sincos", "(sines, cosines, x *T, n int) int", "sets sines[i], cosines[i] to the sine and cosine of x[i] for n elements, or up to a block with an element that is not below the limit, and returns how many.")
	sines, cosines, x, n := amd64.Argument("sines"), amd64.Argument("cosines"), amd64.Argument("x"), amd64.Argument("n")
	others, limit, signBit := m.others(), m.largeLimit(), m.signBit()
	inverse := m.value(0x1.45f306dc9c883p-1)
	shift, half, one := m.value(of(m, 0x1.8p23, 0x1.8p52)), m.value(0.5), m.value(1)
	pi := m.values(m.constants(minimax.HalfPi))
	ofSine := m.scalars(m.constants(minimax.Sine))
	ofCosine := m.scalars(m.constants(minimax.Cosine))
	at := m.loop("block", n, m.unroll(2, 2), func(b block) {
		// signs has the sign of x, to which the quadrant is added later.
		signs := b.load(x)
		r := m.Vecs(b.k)
		each(m.And, others, signs, r)
		m.stopIfLarge(r, limit, "stop")
		sum, q := m.Vecs(b.k), m.Vecs(b.k)
		each(m.Move, shift, sum)
		each(m.Plus, inverse, r, sum)
		each(m.Sub, shift, sum, q)
		for _, term := range pi {
			each(m.Minus, term, q, r)
		}
		z := m.squares(r)
		c := m.polynomial(ofCosine, z)
		for i := range r {
			// cos r = (1 − z/2) + z²·c
			w, square := m.Vec(), m.Vec()
			m.Move(one, w)
			m.Minus(half, z[i], w)
			m.Mul(z[i], z[i], square)
			m.horner(w, square, c[i])
		}
		m.sine(ofSine, r, z)
		for i := range r {
			odd, second := m.Vec(), m.Vec()
			m.Left(U8(m.top()), sum[i], odd)
			m.Left(U8(m.top()-1), sum[i], second)
			s := m.Vec()
			var mask Op = odd
			if m.Wide {
				mask = K()
				of(m, VPMOVD2M, VPMOVQ2M)(odd, mask)
			}
			m.Move(r[i], s)
			m.choose(mask, c[i], s)
			m.choose(mask, r[i], c[i])
			m.Xor(second, signs[i], signs[i])
			m.And(signBit, signs[i], signs[i])
			m.Xor(signs[i], s, s)
			m.Xor(odd, second, second)
			m.And(signBit, second, second)
			m.Xor(second, c[i], c[i])
			r[i] = s
		}
		b.store(r, sines)
		b.store(c, cosines)
	})
	m.end(n, at)
}

// squares returns r².
func (m machine) squares(r []Op) []Op {
	z := m.Vecs(len(r))
	each(m.Mul, r, r, z)
	return z
}

// sine replaces r by r + r³·q(r²), given z = r².
func (m machine) sine(coefficients, r, z []Op) {
	q := m.polynomial(coefficients, z)
	cube := m.Vecs(len(r))
	each(m.Mul, z, r, cube)
	each(m.Plus, q, cube, r)
}

// limit is what |x| has to be below for the vectors: a power of 2.
func (m machine) limit() float64 { return of(m, 0x1p16, 0x1p30) }

// stopIfLarge leaves the loop if an element is not below the limit. x are
// absolute values, whose order is that of their bits.
func (m machine) stopIfLarge(x []Op, limit Op, label string) {
	largest := x[0]
	for _, v := range x[1:] {
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
		of(m, VPCMPUD, VPCMPUQ)(notLess, limit, largest, k)
		KTESTW(k, k)
	} else {
		v, bits := m.Vec(), GP32()
		VPCMPGTD(limit, largest, v)
		of(m, VMOVMSKPS, VMOVMSKPD)(v, bits)
		TESTL(bits, bits)
	}
	JNZ(LabelRef(label))
}

// largeLimit returns the operand for stopIfLarge.
func (m machine) largeLimit() Op {
	bits := m.Bits(m.limit())
	if !m.Wide {
		bits -= of(m, uint64(1), 1<<32)
	}
	return m.pattern(bits)
}

// others returns an operand with every bit but the sign.
func (m machine) others() Op { return m.pattern(1<<m.top() - 1) }

// end returns n or, after a jump to the label stop, the number of elements before
// at.
func (m machine) end(n, at Register) {
	Store(n, ReturnIndex(0))
	amd64.End()
	Label("stop")
	SHRQ(U8(m.Shift()), at)
	Store(at, ReturnIndex(0))
	amd64.End()
}
