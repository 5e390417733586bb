package vecmath

import "github.com/seed-feabd252/randfeat/internal/_asm/arm64"

// simple writes the functions that take a few instructions a vector.
func (m machine) simple() {
	const unroll = 4

	m.Begin("affine", "(dst, x *T, a, b T, n int)", "sets dst[i] = a·x[i] + b for n elements.")
	{
		dst, x, n, p, q := m.Argument("dst"), m.Argument("x"), m.Argument("n"), m.Number("a"), m.Number("b")
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			b.store(each(b.k, func(i int) arm64.Vec { return m.Add(m.Mul(v[i], p), q) }), dst)
		})
		m.End()
	}

	m.Begin("affineEach", "(x *T, a T, b *T, c T, n int)", "sets x[i] = (a·x[i] + b[i]) + c for n elements.")
	{
		x, n, p, q, r := m.Argument("x"), m.Argument("n"), m.Number("a"), m.Argument("b"), m.Number("c")
		m.loop("block", n, unroll, func(b block) {
			v, w := b.load(x), b.load(q)
			b.store(each(b.k, func(i int) arm64.Vec { return m.Add(m.Add(m.Mul(v[i], p), w[i]), r) }), x)
		})
		m.End()
	}

	m.Begin("scale", "(x *T, a T, n int)", "sets x[i] = a·x[i] for n elements.")
	{
		x, n, p := m.Argument("x"), m.Argument("n"), m.Number("a")
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			b.store(each(b.k, func(i int) arm64.Vec { return m.Mul(v[i], p) }), x)
		})
		m.End()
	}

	m.Begin("multiply", "(x, a *T, n int)", "sets x[i] = x[i]·a[i] for n elements.")
	{
		x, n, p := m.Argument("x"), m.Argument("n"), m.Argument("a")
		m.loop("block", n, unroll, func(b block) {
			v, w := b.load(x), b.load(p)
			b.store(each(b.k, func(i int) arm64.Vec { return m.Mul(v[i], w[i]) }), x)
		})
		m.End()
	}

	m.Begin("multiplyComplex", "(re, im, u, v *T, sign T, n int)", "sets re[i] + i·im[i] to its product with u[i] + sign·i·v[i] for n elements.")
	{
		re, im, u, v, n, sign := m.Argument("re"), m.Argument("im"), m.Argument("u"), m.Argument("v"), m.Argument("n"), m.Number("sign")
		m.loop("block", n, 2, func(b block) {
			a, c, p, q := b.load(re), b.load(im), b.load(u), b.load(v)
			q = each(b.k, func(i int) arm64.Vec { return m.Mul(q[i], sign) })
			b.store(each(b.k, func(i int) arm64.Vec { return m.Sub(m.Mul(a[i], p[i]), m.Mul(c[i], q[i])) }), re)
			b.store(each(b.k, func(i int) arm64.Vec { return m.Add(m.Mul(c[i], p[i]), m.Mul(a[i], q[i])) }), im)
		})
		m.End()
	}

	m.Begin("addScaled", "(y, x *T, a T, n int)", "sets y[i] = y[i] + a·x[i] for n elements.")
	{
		y, x, n, p := m.Argument("y"), m.Argument("x"), m.Argument("n"), m.Number("a")
		m.loop("block", n, unroll, func(b block) {
			v, w := b.load(x), b.load(y)
			b.store(each(b.k, func(i int) arm64.Vec { return m.Add(w[i], m.Mul(v[i], p)) }), y)
		})
		m.End()
	}

	m.Begin("max0", "(x *T, c T, n int)", "sets x[i] = c·x[i] where x[i] > 0 and x[i] − x[i] elsewhere, for n elements.")
	{
		x, n, c, zero := m.Argument("x"), m.Argument("n"), m.Number("c"), m.Zero()
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			b.store(each(b.k, func(i int) arm64.Vec {
				result := m.Sub(v[i], v[i])
				m.Choose(result, m.Greater(v[i], zero), m.Mul(v[i], c))
				return result
			}), x)
		})
		m.End()
	}

	m.Begin("sign", "(x *T, c T, n int)", "sets x[i] to x[i] − x[i] plus c with the sign of x[i] if that is not 0, for n elements.")
	{
		x, n, c, zero, signBit := m.Argument("x"), m.Argument("n"), m.Number("c"), m.Zero(), m.signBit()
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			b.store(each(b.k, func(i int) arm64.Vec {
				fault := m.Sub(v[i], v[i])
				signed := m.Add(m.Xor(m.And(v[i], signBit), c), fault)
				m.Choose(signed, m.Equal(v[i], zero), fault)
				return signed
			}), x)
		})
		m.End()
	}
}
