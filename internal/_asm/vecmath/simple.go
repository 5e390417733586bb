package vecmath

import . "github.com/seed-feabd252/randfeat/internal/_asm/kernel"

// unroll is the number of vectors that the loops of this file take at a time.
const unroll = 4

func (m writer[V, G]) linear() {
	m.Begin("affine", "(dst, x *T, a, b T, n int)", "sets dst[i] = a·x[i] + b for n elements.")
	dst, x, n, p, q := m.Argument("dst"), m.Argument("x"), m.Argument("n"), m.Number("a"), m.Number("b")
	m.loop("block", n, unroll, func(b position[V, G]) {
		v := b.load(x)
		Each(m.Mul, v, p, v)
		Each(m.Add, v, q, v)
		b.store(v, dst)
	})
	m.End()

	m.Begin("affineEach", "(x *T, a T, b *T, c T, n int)", "sets x[i] = (a·x[i] + b[i]) + c for n elements.")
	x, n, p = m.Argument("x"), m.Argument("n"), m.Number("a")
	second, r := m.Argument("b"), m.Number("c")
	m.loop("block", n, unroll, func(b position[V, G]) {
		v, w := b.load(x), b.load(second)
		Each(m.Mul, v, p, v)
		Each(m.Add, v, w, v)
		Each(m.Add, v, r, v)
		b.store(v, x)
	})
	m.End()

	m.Begin("multiply", "(x, a *T, n int)", "sets x[i] = x[i]·a[i] for n elements.")
	x, n, second = m.Argument("x"), m.Argument("n"), m.Argument("a")
	m.loop("block", n, unroll, func(b position[V, G]) {
		v, w := b.load(x), b.load(second)
		b.store(Each(m.Mul, v, w, v), x)
	})
	m.End()

	m.Begin("addScaled", "(y, x *T, a T, n int)", "sets y[i] = y[i] + a·x[i] for n elements.")
	y, x, n, p := m.Argument("y"), m.Argument("x"), m.Argument("n"), m.Number("a")
	m.loop("block", n, unroll, func(b position[V, G]) {
		v, w := b.load(x), b.load(y)
		Each(m.Mul, v, p, v)
		b.store(Each(m.Add, w, v, w), y)
	})
	m.End()
}

func (m writer[V, G]) bySign() {
	m.Begin("max0", "(x *T, c T, n int)", "sets x[i] = c·x[i] where x[i] > 0 and x[i] − x[i] elsewhere, for n elements.")
	x, n, p := m.Argument("x"), m.Argument("n"), m.Number("c")
	zero := m.Zero()
	m.loop("block", n, unroll, func(b position[V, G]) {
		v := b.load(x)
		for i := range v {
			fault := m.Sub(v[i], v[i])
			product := m.Mul(v[i], p)
			m.choose(m.greater(v[i], zero), product, fault)
			v[i] = fault
		}
		b.store(v, x)
	})
	m.End()

	m.Begin("sign", "(x *T, c T, n int)", "sets x[i] to x[i] − x[i] plus c with the sign of x[i] if that is not 0, for n elements.")
	x, n, p = m.Argument("x"), m.Argument("n"), m.Number("c")
	signBit := m.signBit()
	zero = m.Zero()
	m.loop("block", n, unroll, func(b position[V, G]) {
		v := b.load(x)
		for i := range v {
			fault := m.Sub(v[i], v[i])
			signed := m.And(v[i], signBit)
			m.Xor(signed, p, signed)
			m.Add(signed, fault, signed)
			m.choose(m.equal(v[i], zero), fault, signed)
			v[i] = signed
		}
		b.store(v, x)
	})
	m.End()
}
