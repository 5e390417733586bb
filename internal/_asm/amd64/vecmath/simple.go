package vecmath

import (
	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// simple writes the functions that take a few instructions a vector.
func (m machine) simple() {
	const unroll = 4

	m.Begin("affine", "(dst, x *T, a, b T, n int)", "sets dst[i] = a·x[i] + b for n elements.")
	{
		dst, x, n, p, q := amd64.Argument("dst"), amd64.Argument("x"), amd64.Argument("n"), m.argument("a"), m.argument("b")
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			each(m.Mul, p, v, v)
			each(m.Add, q, v, v)
			b.store(v, dst)
		})
		amd64.End()
	}

	m.Begin("affineEach", "(x *T, a T, b *T, c T, n int)", "sets x[i] = (a·x[i] + b[i]) + c for n elements.")
	{
		x, n, p, q, r := amd64.Argument("x"), amd64.Argument("n"), m.argument("a"), amd64.Argument("b"), m.argument("c")
		m.loop("block", n, unroll, func(b block) {
			v, w := b.load(x), b.load(q)
			each(m.Mul, p, v, v)
			each(m.Add, w, v, v)
			each(m.Add, r, v, v)
			b.store(v, x)
		})
		amd64.End()
	}

	m.Begin("scale", "(x *T, a T, n int)", "sets x[i] = a·x[i] for n elements.")
	{
		x, n, p := amd64.Argument("x"), amd64.Argument("n"), m.argument("a")
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			each(m.Mul, p, v, v)
			b.store(v, x)
		})
		amd64.End()
	}

	m.Begin("multiply", "(x, a *T, n int)", "sets x[i] = x[i]·a[i] for n elements.")
	{
		x, n, p := amd64.Argument("x"), amd64.Argument("n"), amd64.Argument("a")
		m.loop("block", n, unroll, func(b block) {
			v, w := b.load(x), b.load(p)
			each(m.Mul, w, v, v)
			b.store(v, x)
		})
		amd64.End()
	}

	m.Begin("multiplyComplex", "(re, im, u, v *T, sign T, n int)", "sets re[i] + i·im[i] to its product with u[i] + sign·i·v[i] for n elements.")
	{
		re, im, u, v, n, sign := amd64.Argument("re"), amd64.Argument("im"), amd64.Argument("u"), amd64.Argument("v"), amd64.Argument("n"), m.argument("sign")
		m.loop("block", n, 2, func(b block) {
			a, c, p, q := b.load(re), b.load(im), b.load(u), b.load(v)
			each(m.Mul, sign, q, q)
			for i := range a {
				product, other := m.Vec(), m.Vec()
				m.Mul(q[i], c[i], product)
				m.Mul(q[i], a[i], other)
				m.Mul(p[i], a[i], a[i])
				m.Mul(p[i], c[i], c[i])
				m.Sub(product, a[i], a[i])
				m.Add(other, c[i], c[i])
			}
			b.store(a, re)
			b.store(c, im)
		})
		amd64.End()
	}

	m.Begin("addScaled", "(y, x *T, a T, n int)", "sets y[i] = y[i] + a·x[i] for n elements.")
	{
		y, x, n, p := amd64.Argument("y"), amd64.Argument("x"), amd64.Argument("n"), m.argument("a")
		m.loop("block", n, unroll, func(b block) {
			v, w := b.load(x), b.load(y)
			each(m.Mul, p, v, v)
			each(m.Add, v, w, w)
			b.store(w, y)
		})
		amd64.End()
	}

	m.Begin("max0", "(x *T, c T, n int)", "sets x[i] = c·x[i] where x[i] > 0 and x[i] − x[i] elsewhere, for n elements.")
	{
		x, n, c := amd64.Argument("x"), amd64.Argument("n"), m.argument("c")
		zero := m.zero()
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			for i := range v {
				fault, product := m.Vec(), m.Vec()
				m.Sub(v[i], v[i], fault)
				m.Mul(c, v[i], product)
				m.choose(m.compare(greater, v[i], zero), product, fault)
				v[i] = fault
			}
			b.store(v, x)
		})
		amd64.End()
	}

	m.Begin("sign", "(x *T, c T, n int)", "sets x[i] to x[i] − x[i] plus c with the sign of x[i] if that is not 0, for n elements.")
	{
		x, n, c := amd64.Argument("x"), amd64.Argument("n"), m.argument("c")
		signBit := m.signBit()
		zero := m.zero()
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			for i := range v {
				fault, signed := m.Vec(), m.Vec()
				m.Sub(v[i], v[i], fault)
				m.And(signBit, v[i], signed)
				m.Xor(c, signed, signed)
				m.Add(fault, signed, signed)
				m.choose(m.compare(differs, v[i], zero), signed, fault)
				v[i] = fault
			}
			b.store(v, x)
		})
		amd64.End()
	}
}
