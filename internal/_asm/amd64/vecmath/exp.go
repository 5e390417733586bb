package vecmath

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// exponent holds the constants of e^x = 2^n·e^r with n = round(x/ln 2) and
// r = x − n·ln 2, |r| ≤ ½ln 2.
type exponent struct {
	machine
	lowest, highest Op // where e^x is 0 and +Inf
	inverse         Op // 1/ln 2
	shift           Op // added to a number it rounds that to an integer
	ln2             []Op
	coefficients    []Op // of e^r
}

func (m machine) exponent() exponent {
	e := exponent{machine: m}
	e.lowest, e.highest = m.register(of(m, -104.0, -746)), m.register(of(m, 89.0, 710))
	e.inverse = m.value(0x1.71547652b82fep+0)
	// Without a scale instruction, the lowest bits of the sum are n plus twice the
	// bias of exponents.
	shift := of(m, 0x1.8p23, 0x1.8p52)
	if !m.Wide {
		shift += of(m, 254.0, 2046)
	}
	e.shift = m.value(shift)
	// The first term leaves a difference that is exact: both are multiples of the
	// last place of the smaller one.
	e.ln2 = m.values(m.constants(minimax.Ln2))
	constants := of(m, m.values, m.scalars)
	e.coefficients = constants(append([]float64{1, 1}, m.constants(minimax.Exp)...))
	return e
}

// exp replaces x by new vectors of e^x.
func (e exponent) exp(x []Op) []Op {
	// NaN passes: a comparison with it gives the first operand.
	each(e.Min, x, e.highest, x)
	each(e.Max, x, e.lowest, x)
	sum, n := e.Vecs(len(x)), e.Vecs(len(x))
	each(e.Move, e.shift, sum)
	each(e.Plus, e.inverse, x, sum)
	each(e.Sub, e.shift, sum, n)
	for _, term := range e.ln2 {
		each(e.Minus, term, n, x)
	}
	p := e.polynomial(e.coefficients, x)
	if e.Wide {
		each(of(e.machine, VSCALEFPS, VSCALEFPD), n, p, p)
		return p
	}
	// Two factors reach all results, and at most the second product is rounded.
	for i := range p {
		half := e.Vec()
		e.Right(U8(1), sum[i], half)
		e.SubInt(half, sum[i], sum[i])
		e.Left(U8(e.fraction()), half, half)
		e.Mul(half, p[i], p[i])
		e.Left(U8(e.fraction()), sum[i], sum[i])
		e.Mul(sum[i], p[i], p[i])
	}
	return p
}

// exponentials writes the functions that end in an exponential.
func (m machine) exponentials() {
	m.exponential("exp", "(dst, x *T, n int)", "sets dst[i] = e^x[i] for n elements.", func() func(b block) []Op {
		x := amd64.Argument("x")
		return func(b block) []Op { return b.load(x) }
	})
	m.exponential("expMinus", "(dst, x *T, c T, n int)", "sets dst[i] = e^(x[i] − c) for n elements.", func() func(b block) []Op {
		x, c := amd64.Argument("x"), m.argument("c")
		return func(b block) []Op {
			v := b.load(x)
			each(m.Sub, c, v, v)
			return v
		}
	})
	m.exponential("expDiff", "(dst, x, a, b *T, n int)", "sets dst[i] = e^((x[i] − a[i]) − b[i]) for n elements.", func() func(b block) []Op {
		x, p, q := amd64.Argument("x"), amd64.Argument("a"), amd64.Argument("b")
		return func(b block) []Op {
			v := b.load(x)
			for _, from := range []Register{p, q} {
				each(m.Sub, b.load(from), v, v)
			}
			return v
		}
	})
	m.exponential("expRelative", "(dst, x *T, x0 T, a *T, a0 T, b *T, b0 T, n int)",
		"sets dst[i] = e^((x[i] − x0) + ((a[i] − a0) + (b[i] − b0))) for n elements.", func() func(b block) []Op {
			x, p, q := amd64.Argument("x"), amd64.Argument("a"), amd64.Argument("b")
			x0, a0, b0 := m.argument("x0"), m.argument("a0"), m.argument("b0")
			return func(b block) []Op {
				u, v := b.load(p), b.load(q)
				for i := range u {
					m.Sub(a0, u[i], u[i])
					m.Sub(b0, v[i], v[i])
					m.Add(v[i], u[i], u[i])
				}
				w := b.load(x)
				for i := range w {
					m.Sub(x0, w[i], w[i])
					m.Add(u[i], w[i], w[i])
				}
				return w
			}
		})
	m.elu()
}

// exponential writes a function of the exponent that comes from prepare, which
// loads arguments and returns what computes a block of it.
func (m machine) exponential(name, signature, doc string, prepare func() func(b block) []Op) {
	m.Begin(name, signature, doc)
	argument := prepare()
	dst, n := amd64.Argument("dst"), amd64.Argument("n")
	e := m.exponent()
	m.loop("block", n, m.unroll(4, 4), func(b block) { b.store(e.exp(argument(b)), dst) })
	amd64.End()
}

func (m machine) elu() {
	m.Begin("elu", "(dst, x *T, n int)", "sets dst[i] = x[i] + 1 where x[i] ≥ 0 and e^x[i] elsewhere, for n elements; NaN for −Inf.")
	dst, x, n := amd64.Argument("dst"), amd64.Argument("x"), amd64.Argument("n")
	e := m.exponent()
	zero, one := m.zero(), m.value(1)
	m.loop("block", n, m.unroll(4, 4), func(b block) {
		result := e.exp(b.load(x))
		for i, v := range b.load(x) {
			fault := m.Vec()
			m.Sub(v, v, fault)
			m.Add(fault, result[i], result[i])
			mask := m.compare(atLeast, v, zero)
			m.Add(one, v, v)
			m.choose(mask, v, result[i])
		}
		b.store(result, dst)
	})
	amd64.End()
}
