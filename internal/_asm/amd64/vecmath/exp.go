package vecmath

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
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
	e.ln2 = m.values(of(m, []float64{0x1.62e43p-1, -0x1.05c61p-29}, []float64{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}))
	// Minimax for |r| ≤ 1.001·½ln 2 given the first two; error 2^−28 and 2^−58.
	constants := of(m, m.values, m.scalars)
	e.coefficients = constants(append([]float64{1, 1}, of(m,
		[]float64{0.5, 0.16666515171527863, 0.04166657477617264, 0.008369270712137222, 0.0013924083905294538},
		[]float64{0.5000000000000013, 0.166666666666667, 0.04166666666651432, 0.008333333333307014, 0.0013888888947331042,
			0.00019841269917801008, 2.4801489590691812e-05, 2.7557215925045976e-06, 2.7631413764627014e-07, 2.511798098127451e-08})...))
	return e
}

// exp replaces x by new vectors of e^x.
func (e exponent) exp(x []Op) []Op {
	// NaN passes: a comparison with it gives the first operand.
	for i := range x {
		e.Min(x[i], e.highest, x[i])
	}
	for i := range x {
		e.Max(x[i], e.lowest, x[i])
	}
	sum, n := e.Vecs(len(x)), e.Vecs(len(x))
	for i := range x {
		e.Move(e.shift, sum[i])
	}
	for i := range x {
		e.Plus(e.inverse, x[i], sum[i])
	}
	for i := range x {
		e.Sub(e.shift, sum[i], n[i])
	}
	for _, term := range e.ln2 {
		for i := range x {
			e.Minus(term, n[i], x[i])
		}
	}
	p := e.polynomial(e.coefficients, x)
	if e.Wide {
		for i := range p {
			of(e.machine, VSCALEFPS, VSCALEFPD)(n[i], p[i], p[i])
		}
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
			for i := range v {
				m.Sub(c, v[i], v[i])
			}
			return v
		}
	})
	m.exponential("expDiff", "(dst, x, a, b *T, n int)", "sets dst[i] = e^((x[i] − a[i]) − b[i]) for n elements.", func() func(b block) []Op {
		x, p, q := amd64.Argument("x"), amd64.Argument("a"), amd64.Argument("b")
		return func(b block) []Op {
			v := b.load(x)
			for _, from := range []Register{p, q} {
				for i, c := range b.load(from) {
					m.Sub(c, v[i], v[i])
				}
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
