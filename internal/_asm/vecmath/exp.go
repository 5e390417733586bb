package vecmath

import (
	. "github.com/seed-feabd252/randfeat/internal/_asm/kernel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// exponential returns a function that computes new registers of e^x, and changes x:
// e^x = 2^n·e^r with n = round(x/ln 2) and r = x − n·ln 2, |r| ≤ ½ln 2.
func (m writer[V, G]) exponential() func(x []V) []V {
	lowest, highest := m.register(m.of(-104, -746)), m.register(m.of(89, 710)) // e^x is 0 and +Inf
	inverse := m.Value(0x1.71547652b82fep+0)
	scale := m.scale()
	// A sum with shift is rounded to an integer. Without a scale instruction, the lowest bits of
	// the sum are n plus twice the bias of exponents.
	shift := m.of(0x1.8p23, 0x1.8p52)
	if scale == nil {
		shift += m.of(254, 2046)
	}
	shifts := m.Value(shift)
	// n·ln2[0] is exact, and so is the difference x − n·ln2[0]: both are multiples of the last
	// place of the smaller one.
	ln2 := m.values(m.constants(minimax.Ln2))
	polynomial := m.polynomial(append([]float64{1, 1}, m.constants(minimax.Exp)...), m.Shift() == 2)
	return func(x []V) []V {
		// Min and Max return NaN if their second operand is NaN.
		Each(m.Min, highest, x, x)
		Each(m.Max, lowest, x, x)
		sum, n := m.Vecs(len(x)), m.Vecs(len(x))
		for i := range x {
			m.Move(shifts, sum[i])
		}
		Each(m.AddMul, x, inverse, sum)
		Each(m.Sub, sum, shifts, n)
		for _, term := range ln2 {
			Each(m.SubMul, n, term, x)
		}
		p := polynomial(x)
		if scale != nil {
			return Each(scale, p, n, p)
		}
		// Two factors reach all results, and at most the second product is rounded.
		for i := range p {
			half := m.Right(sum[i], 1)
			m.SubInt(sum[i], half, sum[i])
			m.Left(half, m.fraction(), half)
			m.Mul(p[i], half, p[i])
			m.Left(sum[i], m.fraction(), sum[i])
			m.Mul(p[i], sum[i], p[i])
		}
		return p
	}
}

// exponentials writes the functions whose last step is an exponential.
func (m writer[V, G]) exponentials() {
	m.exponentialOf("expMinus", "(dst, x *T, c T, n int)", "sets dst[i] = e^(x[i] − c) for n elements.", func() func(b position[V, G]) []V {
		x, c := m.Argument("x"), m.Number("c")
		return func(b position[V, G]) []V {
			v := b.load(x)
			return Each(m.Sub, v, c, v)
		}
	})
	m.exponentialOf("expDiff", "(dst, x, a, b *T, n int)", "sets dst[i] = e^((x[i] − a[i]) − b[i]) for n elements.", func() func(b position[V, G]) []V {
		x, p, q := m.Argument("x"), m.Argument("a"), m.Argument("b")
		return func(b position[V, G]) []V { return m.difference(b, x, p, q) }
	})
	m.exponentialOf("expRelative", "(dst, x *T, x0 T, a *T, a0 T, b *T, b0 T, n int)",
		"sets dst[i] = e^((x[i] − x0) + ((a[i] − a0) + (b[i] − b0))) for n elements.", func() func(b position[V, G]) []V {
			x, p, q := m.Argument("x"), m.Argument("a"), m.Argument("b")
			x0, a0, b0 := m.Number("x0"), m.Number("a0"), m.Number("b0")
			return func(b position[V, G]) []V {
				u, v := b.load(p), b.load(q)
				for i := range u {
					m.Sub(u[i], a0, u[i])
					m.Sub(v[i], b0, v[i])
					m.Add(u[i], v[i], u[i])
				}
				w := b.load(x)
				for i := range w {
					m.Sub(w[i], x0, w[i])
					m.Add(w[i], u[i], w[i])
				}
				return w
			}
		})
	m.elu()
	m.matern()
}

// difference returns (x − a) − b.
func (m writer[V, G]) difference(at position[V, G], x, a, b G) []V {
	v := at.load(x)
	for _, p := range []G{a, b} {
		Each(m.Sub, v, at.load(p), v)
	}
	return v
}

// exponentialOf writes a function of the exponents that prepare's result computes for a block.
// prepare loads arguments.
func (m writer[V, G]) exponentialOf(name, signature, doc string, prepare func() func(b position[V, G]) []V) {
	m.Begin(name, signature, doc)
	exponents := prepare()
	dst, n := m.Argument("dst"), m.Argument("n")
	exp := m.exponential()
	m.loop("block", n, 2, func(b position[V, G]) { b.store(exp(exponents(b)), dst) })
	m.End()
}

func (m writer[V, G]) elu() {
	m.Begin("elu", "(dst, x *T, n int)", "sets dst[i] = x[i] + 1 where x[i] ≥ 0 and e^x[i] elsewhere, for n elements; NaN for −Inf.")
	dst, x, n := m.Argument("dst"), m.Argument("x"), m.Argument("n")
	exp := m.exponential()
	zero, one := m.Zero(), m.Value(1)
	m.loop("block", n, 2, func(b position[V, G]) {
		result := exp(b.load(x))
		for i, v := range b.load(x) {
			fault := m.Sub(v, v)
			m.Add(result[i], fault, result[i])
			mask := m.atLeast(v, zero)
			m.Add(v, one, v)
			m.choose(mask, v, result[i])
		}
		b.store(result, dst)
	})
	m.End()
}

func (m writer[V, G]) matern() {
	m.Begin("matern", "(x *T, a T, b *T, c, p, q T, n int)",
		"sets x[i] = ((q·s + p·r) + 1)·e^−r with s = max(0, a·((x[i] + b[i]) + c)) and r = √s for n elements.")
	x, n, second := m.Argument("x"), m.Argument("n"), m.Argument("b")
	a, c, p, q := m.Number("a"), m.Number("c"), m.Number("p"), m.Number("q")
	exp := m.exponential()
	zero, one, signBit := m.Zero(), m.Value(1), m.signBit()
	m.loop("block", n, 2, func(b position[V, G]) {
		s, r := b.load(x), b.load(second)
		for i := range s {
			m.Add(r[i], s[i], s[i])
			m.Add(s[i], c, s[i])
			m.Mul(s[i], a, s[i])
			m.Max(zero, s[i], s[i]) // NaN for NaN
			m.sqrt(s[i], r[i])
			m.Mul(s[i], q, s[i])
			m.Add(s[i], m.Mul(r[i], p), s[i])
			m.Add(s[i], one, s[i])
			m.Xor(r[i], signBit, r[i])
		}
		b.store(Each(m.Mul, exp(r), s, s), x)
	})
	m.End()
}
