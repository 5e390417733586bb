package vecmath

import (
	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// cos writes the cosine. With h = floor(|x|/π) + ½ and r = hπ − |x|, |r| ≤ ½π, it
// is (−1)^(h−½)·sin r.
func (m machine) cos() {
	m.Begin("cos", "(dst, x *T, n int) int", "sets dst[i] = cos x[i] for n elements, or up to a block with an element that is not below the limit, and returns how many.")
	dst, x, n := m.Argument("dst"), m.Argument("x"), m.Argument("n")
	limit := m.Value(m.limit())
	inverse := m.Value(0x1.45f306dc9c883p-2)
	shift, half, one := m.Value(of(m, 0x1.8p23, 0x1.8p52)), m.Value(0.5), m.Value(1)
	minusHalf, minusOne := m.Value(-0.5), m.Value(-1)
	pi := m.values(m.constants(minimax.Pi))
	coefficients := m.constants(minimax.WideSine)
	left := m.loop("block", n, 4, func(b block) {
		v := b.load(x)
		a := each(b.k, func(i int) arm64.Vec { return m.Abs(v[i]) })
		m.stopIfLarge(a, limit)
		sum := each(b.k, func(int) arm64.Vec { return m.Move(minusHalf) })
		for i := range a {
			m.Plus(sum[i], a[i], inverse)
		}
		sum = each(b.k, func(i int) arm64.Vec { return m.Add(sum[i], shift) })
		h := each(b.k, func(i int) arm64.Vec { return m.Add(m.Sub(sum[i], shift), half) })
		r := each(b.k, func(i int) arm64.Vec { return m.Neg(a[i]) })
		for _, term := range pi {
			for i := range r {
				m.Plus(r[i], h[i], term)
			}
		}
		r = m.sine(coefficients, r, m.squares(r))
		b.store(each(b.k, func(i int) arm64.Vec {
			// A result above 1 would be wrong by more of the smaller units below 1.
			s := m.Max(m.Min(r[i], one), minusOne)
			return m.Xor(s, m.Left(sum[i], m.top()))
		}), dst)
	})
	m.end(n, left)
}

// sincos writes both. With n = round(|x|/½π) and r = |x| − ½nπ, |r| ≤ ¼π, they
// are ± sin r and ± cos r, exchanged for odd n.
func (m machine) sincos() {
	m.Begin("sincos", "(sines, cosines, x *T, n int) int", "sets sines[i], cosines[i] to the sine and cosine of x[i] for n elements, or up to a block with an element that is not below the limit, and returns how many.")
	sines, cosines, x, n := m.Argument("sines"), m.Argument("cosines"), m.Argument("x"), m.Argument("n")
	limit, signBit := m.Value(m.limit()), m.signBit()
	inverse := m.Value(0x1.45f306dc9c883p-1)
	shift, half, one := m.Value(of(m, 0x1.8p23, 0x1.8p52)), m.Value(0.5), m.Value(1)
	pi := m.values(m.constants(minimax.HalfPi))
	ofSine := m.constants(minimax.Sine)
	ofCosine := m.constants(minimax.Cosine)
	left := m.loop("block", n, 2, func(b block) {
		v := b.load(x)
		r := each(b.k, func(i int) arm64.Vec { return m.Abs(v[i]) })
		m.stopIfLarge(r, limit)
		sum := each(b.k, func(int) arm64.Vec { return m.Move(shift) })
		for i := range r {
			m.Plus(sum[i], r[i], inverse)
		}
		q := each(b.k, func(i int) arm64.Vec { return m.Sub(sum[i], shift) })
		for _, term := range pi {
			for i := range r {
				m.Minus(r[i], q[i], term)
			}
		}
		z := m.squares(r)
		p := m.polynomial(ofCosine, z)
		c := each(b.k, func(i int) arm64.Vec {
			// cos r = (1 − z/2) + z²·p
			w := m.Move(one)
			m.Minus(w, z[i], half)
			m.Plus(w, m.Mul(z[i], z[i]), p[i])
			return w
		})
		s := m.sine(ofSine, r, z)
		for i := range s {
			odd := m.Left(sum[i], m.top())
			second := m.Left(sum[i], m.top()-1)
			exchanged := m.RightSigned(odd, m.top())
			sine := m.Move(s[i])
			m.Choose(sine, exchanged, c[i])
			m.Choose(c[i], exchanged, s[i])
			// The sine has the sign of x and of the quadrant.
			s[i] = m.Xor(sine, m.And(m.Xor(second, v[i]), signBit))
			c[i] = m.Xor(c[i], m.And(m.Xor(second, odd), signBit))
		}
		b.store(s, sines)
		b.store(c, cosines)
	})
	m.end(n, left)
}

// squares returns r².
func (m machine) squares(r []arm64.Vec) []arm64.Vec {
	return each(len(r), func(i int) arm64.Vec { return m.Mul(r[i], r[i]) })
}

// sine returns r + r³·q(r²), given z = r².
func (m machine) sine(coefficients []float64, r, z []arm64.Vec) []arm64.Vec {
	q := m.polynomial(coefficients, z)
	cube := each(len(r), func(i int) arm64.Vec { return m.Mul(r[i], z[i]) })
	for i := range r {
		m.Plus(r[i], cube[i], q[i])
	}
	return r
}

// limit is what |x| has to be below for the vectors: a power of 2.
func (m machine) limit() float64 { return of(m, 0x1p16, 0x1p30) }

// stopIfLarge leaves the loop if an element is not below the limit. x are
// absolute values.
func (m machine) stopIfLarge(x []arm64.Vec, limit arm64.Vec) {
	largest := x[0]
	for _, v := range x[1:] {
		largest = m.Max(largest, v)
	}
	m.I("CBZ R%r, %j", m.Least(m.Greater(limit, largest)), "stop")
}

// end returns how many of n elements were done when so many are left.
func (m machine) end(n, left arm64.GP) {
	m.Label("stop")
	m.I("SUB R%r, R%m", left, n)
	m.Answer(n)
	m.End()
}
