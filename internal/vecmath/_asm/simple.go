package main

import "math"

// simple writes the functions that take a few instructions a vector.
func (m machine) simple() {
	const unroll = 4

	m.begin("affine", "(x *T, a, b T, n int)", "sets x[i] = a·x[i] + b for n elements.")
	{
		x, n, p, q := pointer("x"), pointer("n"), m.argument("a"), m.argument("b")
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			for i := range v {
				m.mul(p, v[i], v[i])
			}
			for i := range v {
				m.add(q, v[i], v[i])
			}
			b.store(v, x)
		})
		done()
	}

	m.begin("affineEach", "(x *T, a T, b *T, c T, n int)", "sets x[i] = (a·x[i] + b[i]) + c for n elements.")
	{
		x, n, p, q, r := pointer("x"), pointer("n"), m.argument("a"), pointer("b"), m.argument("c")
		m.loop("block", n, unroll, func(b block) {
			v, w := b.load(x), b.load(q)
			for i := range v {
				m.mul(p, v[i], v[i])
			}
			for i := range v {
				m.add(w[i], v[i], v[i])
			}
			for i := range v {
				m.add(r, v[i], v[i])
			}
			b.store(v, x)
		})
		done()
	}

	m.begin("scale", "(x *T, a T, n int)", "sets x[i] = a·x[i] for n elements.")
	{
		x, n, p := pointer("x"), pointer("n"), m.argument("a")
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			for i := range v {
				m.mul(p, v[i], v[i])
			}
			b.store(v, x)
		})
		done()
	}

	m.begin("multiply", "(x, a *T, n int)", "sets x[i] = x[i]·a[i] for n elements.")
	{
		x, n, p := pointer("x"), pointer("n"), pointer("a")
		m.loop("block", n, unroll, func(b block) {
			v, w := b.load(x), b.load(p)
			for i := range v {
				m.mul(w[i], v[i], v[i])
			}
			b.store(v, x)
		})
		done()
	}

	m.begin("multiplyComplex", "(re, im, u, v *T, sign T, n int)", "sets re[i] + i·im[i] to its product with u[i] + sign·i·v[i] for n elements.")
	{
		re, im, u, v, n, sign := pointer("re"), pointer("im"), pointer("u"), pointer("v"), pointer("n"), m.argument("sign")
		m.loop("block", n, 2, func(b block) {
			a, c, p, q := b.load(re), b.load(im), b.load(u), b.load(v)
			for i := range a {
				m.mul(sign, q[i], q[i])
			}
			for i := range a {
				product, other := m.vec(), m.vec()
				m.mul(q[i], c[i], product)
				m.mul(q[i], a[i], other)
				m.mul(p[i], a[i], a[i])
				m.mul(p[i], c[i], c[i])
				m.sub(product, a[i], a[i])
				m.add(other, c[i], c[i])
			}
			b.store(a, re)
			b.store(c, im)
		})
		done()
	}

	m.begin("addScaled", "(y, x *T, a T, n int)", "sets y[i] = y[i] + a·x[i] for n elements.")
	{
		y, x, n, p := pointer("y"), pointer("x"), pointer("n"), m.argument("a")
		m.loop("block", n, unroll, func(b block) {
			v, w := b.load(x), b.load(y)
			for i := range v {
				m.mul(p, v[i], v[i])
			}
			for i := range v {
				m.add(v[i], w[i], w[i])
			}
			b.store(w, y)
		})
		done()
	}

	m.begin("max0", "(x *T, c T, n int)", "sets x[i] = c·x[i] where x[i] > 0 and x[i] − x[i] elsewhere, for n elements.")
	{
		x, n, c := pointer("x"), pointer("n"), m.argument("c")
		zero := m.zero()
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			for i := range v {
				fault, product := m.vec(), m.vec()
				m.sub(v[i], v[i], fault)
				m.mul(c, v[i], product)
				m.choose(m.compare(greater, v[i], zero), product, fault)
				v[i] = fault
			}
			b.store(v, x)
		})
		done()
	}

	m.begin("sign", "(x *T, c T, n int)", "sets x[i] to x[i] − x[i] plus c with the sign of x[i] if that is not 0, for n elements.")
	{
		x, n, c := pointer("x"), pointer("n"), m.argument("c")
		signBit := m.signBit()
		zero := m.zero()
		m.loop("block", n, unroll, func(b block) {
			v := b.load(x)
			for i := range v {
				fault, signed := m.vec(), m.vec()
				m.sub(v[i], v[i], fault)
				m.and(signBit, v[i], signed)
				m.xor(c, signed, signed)
				m.add(fault, signed, signed)
				m.choose(m.compare(differs, v[i], zero), signed, fault)
				v[i] = fault
			}
			b.store(v, x)
		})
		done()
	}

	m.begin("peaks", "(peaks, x *T, n int)", "sets peaks[i] = x[i] where peaks[i] < x[i] < +Inf, for n elements.")
	{
		peaks, x, n := pointer("peaks"), pointer("x"), pointer("n")
		inf := m.value(math.Inf(1))
		m.loop("block", n, unroll, func(b block) {
			v, p := b.load(x), b.load(peaks)
			for i := range v {
				m.choose(m.both(m.compare(lessOne, p[i], v[i]), m.compare(lessOne, v[i], inf)), v[i], p[i])
			}
			b.store(p, peaks)
		})
		done()
	}
}
