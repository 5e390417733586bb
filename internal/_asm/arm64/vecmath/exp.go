package vecmath

import (
	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// exponent holds the constants of e^x = 2^n·e^r with n = round(x/ln 2) and
// r = x − n·ln 2, |r| ≤ ½ln 2.
type exponent struct {
	machine
	lowest, highest arm64.Vec // where e^x is 0 and +Inf
	inverse         arm64.Vec // 1/ln 2
	shift           arm64.Vec // added to a number it rounds that to an integer
	ln2             []arm64.Vec
	coefficients    []float64 // of e^r
}

func (m machine) exponent() exponent {
	return exponent{
		machine: m,
		lowest:  m.Value(of(m, -104.0, -746)),
		highest: m.Value(of(m, 89.0, 710)),
		inverse: m.Value(0x1.71547652b82fep+0),
		// The lowest bits of the sum are n plus twice the bias of exponents.
		shift: m.Value(of(m, 0x1.8p23+254, 0x1.8p52+2046)),
		// The first term leaves a difference that is exact: both are multiples of the
		// last place of the smaller one.
		ln2:          m.values(m.constants(minimax.Ln2)),
		coefficients: append([]float64{1, 1}, m.constants(minimax.Exp)...),
	}
}

// exp returns e^x.
func (e exponent) exp(x []arm64.Vec) []arm64.Vec {
	k := len(x)
	r := each(k, func(i int) arm64.Vec { return e.Min(x[i], e.highest) })
	r = each(k, func(i int) arm64.Vec { return e.Max(r[i], e.lowest) })
	sum := each(k, func(int) arm64.Vec { return e.Move(e.shift) })
	for i := range r {
		e.Plus(sum[i], r[i], e.inverse)
	}
	n := each(k, func(i int) arm64.Vec { return e.Sub(sum[i], e.shift) })
	for _, term := range e.ln2 {
		for i := range r {
			e.Minus(r[i], n[i], term)
		}
	}
	p := e.polynomial(e.coefficients, r)
	// Two factors reach all results, and at most the second product is rounded.
	return each(k, func(i int) arm64.Vec {
		half := e.Right(sum[i], 1)
		rest := e.SubInt(sum[i], half)
		return e.Mul(e.Mul(p[i], e.Left(half, e.fraction())), e.Left(rest, e.fraction()))
	})
}

// exponentials writes the functions that end in an exponential.
func (m machine) exponentials() {
	m.exponential("exp", "(dst, x *T, n int)", "sets dst[i] = e^x[i] for n elements.", func() func(b block) []arm64.Vec {
		x := m.Argument("x")
		return func(b block) []arm64.Vec { return b.load(x) }
	})
	m.exponential("expMinus", "(dst, x *T, c T, n int)", "sets dst[i] = e^(x[i] − c) for n elements.", func() func(b block) []arm64.Vec {
		x, c := m.Argument("x"), m.Number("c")
		return func(b block) []arm64.Vec {
			v := b.load(x)
			return each(b.k, func(i int) arm64.Vec { return m.Sub(v[i], c) })
		}
	})
	m.exponential("expDiff", "(dst, x, a, b *T, n int)", "sets dst[i] = e^((x[i] − a[i]) − b[i]) for n elements.", func() func(b block) []arm64.Vec {
		x, p, q := m.Argument("x"), m.Argument("a"), m.Argument("b")
		return func(b block) []arm64.Vec {
			return m.less(b.load(x), b.load(p), b.load(q))
		}
	})
	m.exponential("expRelative", "(dst, x *T, x0 T, a *T, a0 T, b *T, b0 T, n int)",
		"sets dst[i] = e^((x[i] − x0) + ((a[i] − a0) + (b[i] − b0))) for n elements.", func() func(b block) []arm64.Vec {
			x, p, q := m.Argument("x"), m.Argument("a"), m.Argument("b")
			x0, a0, b0 := m.Number("x0"), m.Number("a0"), m.Number("b0")
			return func(b block) []arm64.Vec {
				u, v, w := b.load(p), b.load(q), b.load(x)
				return each(b.k, func(i int) arm64.Vec {
					return m.Add(m.Sub(w[i], x0), m.Add(m.Sub(u[i], a0), m.Sub(v[i], b0)))
				})
			}
		})
	m.elu()
}

// less returns (x − a) − b.
func (m machine) less(x, a, b []arm64.Vec) []arm64.Vec {
	return each(len(x), func(i int) arm64.Vec { return m.Sub(m.Sub(x[i], a[i]), b[i]) })
}

// exponential writes a function of the exponent that comes from prepare, which
// loads arguments and returns what computes a block of it.
func (m machine) exponential(name, signature, doc string, prepare func() func(b block) []arm64.Vec) {
	m.Begin(name, signature, doc)
	argument := prepare()
	dst, n := m.Argument("dst"), m.Argument("n")
	e := m.exponent()
	m.loop("block", n, 4, func(b block) { b.store(e.exp(argument(b)), dst) })
	m.End()
}

func (m machine) elu() {
	m.Begin("elu", "(dst, x *T, n int)", "sets dst[i] = x[i] + 1 where x[i] ≥ 0 and e^x[i] elsewhere, for n elements; NaN for −Inf.")
	dst, x, n := m.Argument("dst"), m.Argument("x"), m.Argument("n")
	e := m.exponent()
	zero, one := m.Zero(), m.Value(1)
	m.loop("block", n, 4, func(b block) {
		v := b.load(x)
		p := e.exp(v)
		b.store(each(b.k, func(i int) arm64.Vec {
			result := m.Add(p[i], m.Sub(v[i], v[i]))
			m.Choose(result, m.AtLeast(v[i], zero), m.Add(v[i], one))
			return result
		}), dst)
	})
	m.End()
}
