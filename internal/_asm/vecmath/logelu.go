package vecmath

import (
	"math"

	. "github.com/seed-feabd252/randfeat/internal/_asm/kernel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// logELU writes log(1 + max(x, 0)) + min(x, 0). The logarithm of 1 + x is k·ln 2 + log(1 + f) with
// 1 + f = (1 + x)/2^k between √½ and √2. With s = f/(2 + f) the second logarithm is 2·artanh s,
// summed as in fdlibm:
//
//	f − (f²/2 − s·(f²/2 + R(s²))),  R(z) = z·(c₀ + c₁z + …).
func (m writer[V, G]) logELU() {
	m.Begin("logELU", "(dst, x *T, n int)", "sets dst[i] = log(1 + x[i]) where x[i] ≥ 0 and x[i] elsewhere, for n elements; NaN for −Inf.")
	dst, x, n := m.Argument("dst"), m.Argument("x"), m.Argument("n")
	bias := Of(m, uint64(127), 1023)
	// Exponents are those of numbers from √½ to √2 times a power of 2, with bias.
	offset := m.Pattern(bias<<m.fraction() - m.Bits(math.Sqrt2/2))
	twice := m.Pattern(2*bias + 2)
	one, quarter, half, two := m.Value(1), m.Value(0.25), m.Value(0.5), m.Value(2)
	toFloat := m.of(0x1p23, 0x1p52)
	floatBits, float := m.Value(toFloat), m.Value(toFloat+float64(bias))
	ln2 := m.values(m.constants(minimax.Ln2))
	polynomial := m.polynomial(m.constants(minimax.Log1p), false)
	signBit := m.signBit()
	minusOne, inf, minusInf, nan := m.Value(-1), m.Value(math.Inf(1)), m.Value(math.Inf(-1)), m.Value(math.NaN())
	m.loop("block", n, 2, func(b position[V, G]) {
		v := b.load(x)
		// Min and Max return NaN if their second operand is NaN. Narrow machines have no
		// register for zero beyond these lines.
		zero := m.Zero()
		below := Each(m.Min, zero, v)
		Each(m.Max, zero, v, v)
		e := Each(m.Add, v, one)
		Each(m.AddInt, e, offset, e)
		all := func(f func(i int)) {
			for i := range v {
				f(i)
			}
		}
		all(func(i int) { m.Right(e[i], m.fraction(), e[i]) })
		// scale is 2^(2−k), a normal number for every k, and f = (x·scale)/4 + (scale/4 − 1)
		// is rounded at most once, or exact for k = 0.
		k, scale := make([]V, len(v)), make([]V, len(v))
		all(func(i int) { scale[i] = m.Move(twice) })
		Each(m.SubInt, scale, e, scale)
		all(func(i int) { m.Left(scale[i], m.fraction(), scale[i]) })
		f := Each(m.Mul, v, scale)
		all(func(i int) { k[i] = m.inRegister(quarter) })
		all(func(i int) { scale[i] = m.fused(scale[i], k[i], m.kept(minusOne)) })
		all(func(i int) { f[i] = m.fused(f[i], k[i], scale[i]) })
		k = Each(m.Or, e, floatBits)
		Each(m.Sub, k, float, k)

		s := Each(m.Add, f, two)
		Each(m.Div, f, s, s)
		z := Each(m.Mul, s, s)
		square := Each(m.Mul, f, half)
		Each(m.Mul, square, f, square)
		r := polynomial(z)
		all(func(i int) { r[i] = m.fused(r[i], z[i], m.kept(square[i])) })
		low := Each(m.Mul, k, ln2[1])
		Each(m.AddMul, r, s, low)
		Each(m.Sub, square, low, square)
		Each(m.Sub, f, square, f)
		Each(m.AddMul, k, ln2[0], f)

		// −0 lost its sign in the sums, and other results have the sign of x anyway.
		Each(m.Or, f, Each(m.And, v, signBit), f)
		for i := range v {
			m.choose(m.equal(v[i], inf), v[i], f[i])
			m.choose(m.below(v[i], minusOne), nan, f[i])
			m.choose(m.equal(v[i], minusOne), minusInf, f[i])
		}
		Each(m.Add, f, below, f)
		Each(m.Sub, below, below, below)
		Each(m.Add, f, below, f)
		b.store(f, dst)
	})
	m.End()
}
