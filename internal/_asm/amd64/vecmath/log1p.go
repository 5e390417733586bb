package vecmath

import (
	"math"

	. "github.com/mmcloughlin/avo/operand"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
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
	ln2 := m.values(of(m, []float64{0x1.62e43p-1, -0x1.05c61p-29}, []float64{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}))
	// Minimax for |s| ≤ 0.1734; error 2^−36 and 2^−58.
	coefficients := m.scalars(of(m,
		[]float64{0.6666666269302368, 0.400003582239151, 0.2853582501411438, 0.23611825704574585},
		[]float64{0.6666666666666745, 0.3999999999933569, 0.2857142876146652, 0.22222196475273095, 0.18183680006751357, 0.15310934189568964, 0.1482858449976831}))
	signBit := m.signBit()
	minusOne, inf, minusInf, nan := m.value(-1), m.value(math.Inf(1)), m.value(math.Inf(-1)), m.value(math.NaN())
	var zero Op
	if elu {
		zero = m.zero()
	}
	m.loop("block", n, m.unroll(2, 2), func(b block) {
		v := b.load(x)
		each := func(instruction func(i int)) {
			for i := range v {
				instruction(i)
			}
		}
		var below []Op
		if elu {
			// NaN passes: a comparison with it gives the first operand.
			below = m.Vecs(b.k)
			each(func(i int) { m.Min(v[i], zero, below[i]) })
			each(func(i int) { m.Max(v[i], zero, v[i]) })
		}
		e, k, scale, f := m.Vecs(b.k), m.Vecs(b.k), m.Vecs(b.k), m.Vecs(b.k)
		each(func(i int) { m.Add(one, v[i], e[i]) })
		each(func(i int) { m.AddInt(offset, e[i], e[i]) })
		each(func(i int) { m.Right(U8(m.fraction()), e[i], e[i]) })
		// scale is 2^(2−k), a normal number for every k, and f = (x·scale)/4 + (scale/4 − 1)
		// is rounded at most once, or exact for k = 0.
		each(func(i int) { m.Move(twice, scale[i]) })
		each(func(i int) { m.SubInt(e[i], scale[i], scale[i]) })
		each(func(i int) { m.Left(U8(m.fraction()), scale[i], scale[i]) })
		each(func(i int) { m.Mul(scale[i], v[i], f[i]) })
		each(func(i int) { m.Move(quarter, k[i]) })
		each(func(i int) { m.horner(minusOne, k[i], scale[i]) })
		each(func(i int) { m.horner(scale[i], k[i], f[i]) })
		each(func(i int) { m.Or(floatBits, e[i], k[i]) })
		each(func(i int) { m.Sub(float, k[i], k[i]) })

		s, z, square, low := m.Vecs(b.k), m.Vecs(b.k), m.Vecs(b.k), m.Vecs(b.k)
		each(func(i int) { m.Add(two, f[i], s[i]) })
		each(func(i int) { m.Div(s[i], f[i], s[i]) })
		each(func(i int) { m.Mul(s[i], s[i], z[i]) })
		each(func(i int) { m.Mul(half, f[i], square[i]) })
		each(func(i int) { m.Mul(f[i], square[i], square[i]) })
		r := m.polynomial(coefficients, z)
		each(func(i int) { m.horner(square[i], z[i], r[i]) })
		each(func(i int) { m.Mul(ln2[1], k[i], low[i]) })
		each(func(i int) { m.Plus(s[i], r[i], low[i]) })
		each(func(i int) { m.Sub(low[i], square[i], square[i]) })
		each(func(i int) { m.Sub(square[i], f[i], f[i]) })
		each(func(i int) { m.Plus(ln2[0], k[i], f[i]) })

		// −0 lost its sign in the sums, and other results have the sign of x anyway.
		sign := m.Vecs(b.k)
		each(func(i int) { m.And(signBit, v[i], sign[i]) })
		each(func(i int) { m.Or(sign[i], f[i], f[i]) })
		each(func(i int) {
			m.choose(m.compare(equal, v[i], inf), v[i], f[i])
			m.choose(m.compare(lessOne, v[i], minusOne), nan, f[i])
			m.choose(m.compare(equal, v[i], minusOne), minusInf, f[i])
		})
		if elu {
			each(func(i int) { m.Add(below[i], f[i], f[i]) })
			each(func(i int) { m.Sub(below[i], below[i], below[i]) })
			each(func(i int) { m.Add(below[i], f[i], f[i]) })
		}
		b.store(f, dst)
	})
	amd64.End()
}
