package vecmath

import (
	"math"

	. "github.com/mmcloughlin/avo/operand"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// log1p writes log(1 + x) = k·ln 2 + log(1 + f) with 1 + f = (1 + x)/2^k between
// √½ and √2. With s = f/(2 + f) the second logarithm is 2·artanh s, summed as in
// fdlibm:
//
//	f − (f²/2 − s·(f²/2 + R(s²))),  R(z) = z·(c₀ + c₁z + …).
//
// With elu it is log(1 + max(x, 0)) + min(x, 0).
func (m machine) log1p(elu bool) {
	if elu {
		m.Begin("logELU", "(dst, x *T, n int)", "sets dst[i] = log(1 + x[i]) where x[i] ≥ 0 and x[i] elsewhere, for n elements; NaN for −Inf.")
	} else {
		m.Begin("log1p", "(dst, x *T, n int)", "sets dst[i] = log(1 + x[i]) for n elements.")
	}
	dst, x, n := amd64.Argument("dst"), amd64.Argument("x"), amd64.Argument("n")
	bias := of(m, uint64(127), 1023)
	// Exponents are those of numbers from √½ to √2 times a power of 2, with bias.
	offset := m.pattern(bias<<m.fraction() - m.Bits(math.Sqrt2/2))
	twice := m.pattern(2*bias + 2)
	one, quarter, half, two := m.value(1), m.value(0.25), m.value(0.5), m.value(2)
	toFloat := of(m, 0x1p23, 0x1p52)
	floatBits, float := m.value(toFloat), m.value(toFloat+float64(bias))
	ln2 := m.values(m.constants(minimax.Ln2))
	coefficients := m.scalars(m.constants(minimax.Log1p))
	signBit := m.signBit()
	minusOne, inf, minusInf, nan := m.value(-1), m.value(math.Inf(1)), m.value(math.Inf(-1)), m.value(math.NaN())
	m.loop("block", n, m.unroll(2, 2), func(b block) {
		v := b.load(x)
		var below []Op
		if elu {
			// NaN passes: a comparison with it gives the first operand. Narrow machines have no
			// register for zero beyond these lines.
			zero := m.zero()
			below = m.Vecs(b.k)
			each(m.Min, v, zero, below)
			each(m.Max, v, zero, v)
		}
		e, k, scale, f := m.Vecs(b.k), m.Vecs(b.k), m.Vecs(b.k), m.Vecs(b.k)
		each(m.Add, one, v, e)
		each(m.AddInt, offset, e, e)
		each(m.Right, U8(m.fraction()), e, e)
		// scale is 2^(2−k), a normal number for every k, and f = (x·scale)/4 + (scale/4 − 1)
		// is rounded at most once, or exact for k = 0.
		each(m.Move, twice, scale)
		each(m.SubInt, e, scale, scale)
		each(m.Left, U8(m.fraction()), scale, scale)
		each(m.Mul, scale, v, f)
		each(m.Move, quarter, k)
		each(m.horner, minusOne, k, scale)
		each(m.horner, scale, k, f)
		each(m.Or, floatBits, e, k)
		each(m.Sub, float, k, k)

		s, z, square, low := m.Vecs(b.k), m.Vecs(b.k), m.Vecs(b.k), m.Vecs(b.k)
		each(m.Add, two, f, s)
		each(m.Div, s, f, s)
		each(m.Mul, s, s, z)
		each(m.Mul, half, f, square)
		each(m.Mul, f, square, square)
		r := m.polynomial(coefficients, z)
		each(m.horner, square, z, r)
		each(m.Mul, ln2[1], k, low)
		each(m.Plus, s, r, low)
		each(m.Sub, low, square, square)
		each(m.Sub, square, f, f)
		each(m.Plus, ln2[0], k, f)

		// −0 lost its sign in the sums, and other results have the sign of x anyway.
		sign := m.Vecs(b.k)
		each(m.And, signBit, v, sign)
		each(m.Or, sign, f, f)
		for i := range v {
			m.choose(m.compare(equal, v[i], inf), v[i], f[i])
			m.choose(m.compare(lessOne, v[i], minusOne), nan, f[i])
			m.choose(m.compare(equal, v[i], minusOne), minusInf, f[i])
		}
		if elu {
			each(m.Add, below, f, f)
			each(m.Sub, below, below, below)
			each(m.Add, below, f, f)
		}
		b.store(f, dst)
	})
	amd64.End()
}
