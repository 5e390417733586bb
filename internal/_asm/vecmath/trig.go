package vecmath

import (
	. "github.com/seed-feabd252/randfeat/internal/_asm/kernel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// sincos writes sine and cosine. With n = round(|x|/½π) and r = |x| − ½nπ, |r| ≤ ¼π, they
// are ± sin r and ± cos r, exchanged for odd n.
func (m writer[V, G]) sincos() {
	m.Begin("sincos", "(sines, cosines, x *T, n int) int", "sets sines[i], cosines[i] to the sine and cosine of x[i] for n elements, or up to a block with an element that is not below the limit, and returns how many.")
	sines, cosines, x, n := m.Argument("sines"), m.Argument("cosines"), m.Argument("x"), m.Argument("n")
	abs, signBit := m.abs(m.limit()), m.signBit()
	inverse := m.Value(0x1.45f306dc9c883p-1)
	shift, half, one := m.Value(m.of(0x1.8p23, 0x1.8p52)), m.Value(0.5), m.Value(1)
	pi := m.values(m.constants(minimax.HalfPi))
	ofSine, ofCosine := m.polynomial(m.constants(minimax.Sine), false), m.polynomial(m.constants(minimax.Cosine), false)
	place := m.loop("block", n, 2, func(b position[V, G]) {
		// sign has the sign of x, to which the quadrant is added later.
		sign := b.load(x)
		r := m.Vecs(len(sign))
		abs(sign, r)
		sum := m.Vecs(len(r))
		for i := range sum {
			m.Move(shift, sum[i])
		}
		Each(m.AddMul, r, inverse, sum)
		q := Each(m.Sub, sum, shift)
		for _, term := range pi {
			Each(m.SubMul, q, term, r)
		}
		z := Each(m.Mul, r, r)
		c := ofCosine(z)
		for i := range r {
			// cos r = (1 − z/2) + z²·c
			w := m.Move(one)
			m.SubMul(z[i], half, w)
			c[i] = m.fused(c[i], m.Mul(z[i], z[i]), w)
		}
		m.sine(ofSine, r, z)
		for i := range r {
			odd, second := m.Left(sum[i], m.top()), m.Left(sum[i], m.top()-1)
			mask := m.signs(odd)
			s := m.Move(r[i])
			m.choose(mask, c[i], s)
			m.choose(mask, r[i], c[i])
			m.Xor(sign[i], second, sign[i])
			m.And(sign[i], signBit, sign[i])
			m.Xor(s, sign[i], s)
			m.Xor(second, odd, second)
			m.And(second, signBit, second)
			m.Xor(c[i], second, c[i])
			r[i] = s
		}
		b.store(r, sines)
		b.store(c, cosines)
	})
	m.end(n, place)
}

// sine replaces r by r + r³·q(r²) for a polynomial q, given z = r².
func (m writer[V, G]) sine(q func(x []V) []V, r, z []V) {
	p := q(z)
	Each(m.AddMul, Each(m.Mul, r, z), p, r)
}

// limit is the limit of |x|: a power of 2.
func (m writer[V, G]) limit() float64 { return m.of(0x1p16, 0x1p30) }
