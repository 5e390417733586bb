package vecmath

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
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
	pi := m.pi(false)
	// Minimax relative to sin r for |r| ≤ ½π + 0.012 and ½π + 2^−20; error 2^−27 and
	// 2^−61.
	coefficients := of(m, m.values, m.scalars)(of(m,
		[]float64{-0.16666659712791443, 0.008333065547049046, -0.0001980933011509478, 2.6048296604130883e-06},
		[]float64{-0.16666666666666666, 0.008333333333333194, -0.00019841269841209218, 2.755731921113721e-06,
			-2.5052106872796224e-08, 1.6058939705582602e-10, -7.642991480871445e-13, 2.721174871154488e-15}))
	at := m.loop("block", n, m.unroll(4, 4), func(b block) {
		r := b.load(x)
		for i := range r {
			m.And(others, r[i], r[i])
		}
		m.stopIfLarge(r, limit, "stop")
		sum, h := m.Vecs(b.k), m.Vecs(b.k)
		if m.Wide {
			for i := range r {
				m.Move(shift, sum[i])
			}
			for i := range r {
				of(m, VFMADD231PS_RD_SAE, VFMADD231PD_RD_SAE)(inverse, r[i], sum[i])
			}
		} else {
			for i := range r {
				m.Move(half, sum[i])
				of(m, VFMSUB231PS, VFMSUB231PD)(inverse, r[i], sum[i])
			}
			for i := range r {
				m.Add(shift, sum[i], sum[i])
			}
		}
		for i := range r {
			m.Sub(shift, sum[i], h[i])
		}
		for i := range r {
			m.Add(half, h[i], h[i])
		}
		for i := range r {
			m.Less(pi[0], h[i], r[i])
		}
		for _, term := range pi[1:] {
			for i := range r {
				m.Plus(term, h[i], r[i])
			}
		}
		m.sine(coefficients, r, m.squares(r))
		// A result above 1 would be wrong by more of the smaller units below 1.
		if m.Wide {
			const smallerWithSign = U8(2)
			for i := range r {
				of(m, VRANGEPS, VRANGEPD)(smallerWithSign, one, r[i], r[i])
			}
		} else {
			for i := range r {
				m.Min(one, r[i], r[i])
				m.Max(minusOne, r[i], r[i])
			}
		}
		for i := range r {
			m.Left(U8(m.top()), sum[i], sum[i])
		}
		for i := range r {
			m.Xor(sum[i], r[i], r[i])
		}
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
	pi := m.pi(true)
	// Minimax relative to sin r and cos r for |r| ≤ ¼π + 0.012 and ¼π + 2^−20; errors
	// below 2^−27 and 2^−57.
	ofSine := m.scalars(of(m,
		[]float64{-0.16666653752326965, 0.00833209976553917, -0.00019506498938426375},
		[]float64{-0.1666666666666663, 0.008333333333322118, -0.00019841269829589428, 2.7557313621345438e-06,
			-2.5050747756332126e-08, 1.5896229767405e-10}))
	ofCosine := m.scalars(of(m,
		[]float64{0.04166664183139801, -0.0013887216337025166, 2.4421704438282177e-05},
		[]float64{0.041666666666666595, -0.0013888888888873056, 2.480158728885158e-05, -2.7557314179258925e-07,
			2.08757008367154e-09, -1.1358536243065947e-11}))
	at := m.loop("block", n, m.unroll(2, 2), func(b block) {
		// signs has the sign of x, to which the quadrant is added later.
		signs := b.load(x)
		r := m.Vecs(b.k)
		for i := range r {
			m.And(others, signs[i], r[i])
		}
		m.stopIfLarge(r, limit, "stop")
		sum, q := m.Vecs(b.k), m.Vecs(b.k)
		for i := range r {
			m.Move(shift, sum[i])
		}
		for i := range r {
			m.Plus(inverse, r[i], sum[i])
		}
		for i := range r {
			m.Sub(shift, sum[i], q[i])
		}
		for _, term := range pi {
			for i := range r {
				m.Minus(term, q[i], r[i])
			}
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
	for i := range r {
		m.Mul(r[i], r[i], z[i])
	}
	return z
}

// sine replaces r by r + r³·q(r²), given z = r².
func (m machine) sine(coefficients, r, z []Op) {
	q := m.polynomial(coefficients, z)
	cube := m.Vecs(len(r))
	for i := range r {
		m.Mul(z[i], r[i], cube[i])
	}
	for i := range r {
		m.Plus(q[i], cube[i], r[i])
	}
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

// pi returns π, or ½π, as a sum of three terms.
func (m machine) pi(halved bool) []Op {
	p := of(m,
		[]float64{0x1.921fb6p+1, -0x1.777a5cp-24, -0x1.ee59dap-49},
		[]float64{0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbcp-109})
	if halved {
		for i := range p {
			p[i] /= 2
		}
	}
	return m.values(p)
}

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
