package vecmath

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// finite returns v with −Inf instead of NaN and +Inf.
func (m machine) finite(v []arm64.Vec, inf, minusInf arm64.Vec) []arm64.Vec {
	return each(len(v), func(i int) arm64.Vec {
		kept := m.Move(minusInf)
		m.Choose(kept, m.Greater(inf, v[i]), v[i])
		return kept
	})
}

// largest returns a vector with the largest element of some vectors in every lane.
func (m machine) largest(v []arm64.Vec) arm64.Vec {
	for h := len(v) / 2; h > 0; h /= 2 {
		v = each(h, func(i int) arm64.Vec { return m.Max(v[i], v[i+h]) })
	}
	x := v[0]
	for h := 1; h < m.Lanes(); h *= 2 {
		x = m.MaxPairs(x, x)
	}
	return x
}

// peak writes the largest finite element.
func (m machine) peak() {
	m.Begin("peak", "(x *T, n int) T", "returns the largest of n elements of x that is finite, or −Inf.")
	x, n := m.Argument("x"), m.Argument("n")
	inf, minusInf := m.Value(math.Inf(1)), m.Value(math.Inf(-1))
	acc := each(4, func(int) arm64.Vec { return m.Move(minusInf) })
	m.loop("block", n, len(acc), func(b block) {
		for i, v := range m.finite(b.load(x), inf, minusInf) {
			m.Into(acc[i]).Max(acc[i], v)
		}
	})
	m.AnswerElement(m.largest(acc))
	m.End()
}

// peakSum writes the place of the largest finite sum, which it looks for once the
// sum is known.
func (m machine) peakSum() {
	m.Begin("peakSum", "(x, a, b *T, n int) int", "returns the first index of the largest finite (x[i] + a[i]) + b[i] of n, or −1.")
	x, p, q, n := m.Argument("x"), m.Argument("a"), m.Argument("b"), m.Argument("n")
	inf, minusInf := m.Value(math.Inf(1)), m.Value(math.Inf(-1))
	sums := func(b block, x, p, q arm64.GP) []arm64.Vec {
		u, v, w := b.load(x), b.load(p), b.load(q)
		return each(b.k, func(i int) arm64.Vec { return m.Add(m.Add(u[i], v[i]), w[i]) })
	}
	again := make([]arm64.GP, 3)
	for i, base := range []arm64.GP{x, p, q} {
		again[i] = m.CopyOf(base)
	}
	acc := each(2, func(int) arm64.Vec { return m.Move(minusInf) })
	m.loop("block", n, len(acc), func(b block) {
		for i, v := range m.finite(sums(b, x, p, q), inf, minusInf) {
			m.Into(acc[i]).Max(acc[i], v)
		}
	})
	peak := m.largest(acc)
	lane, none := m.GP(), m.GP()
	m.I("MOVD $-1, R%w", none)
	m.I("CBNZ R%r, %j", m.Most(m.Equal(peak, minusInf)), "none")
	// The numbers of lanes, in each half of a lane of float64.
	lanes := m.Constant(of(m, uint64(1)<<32, 0), of(m, uint64(3)<<32|2, 1<<32|1))
	left := m.loop("search", n, 1, func(b block) {
		mask := m.Equal(sums(b, again[0], again[1], again[2])[0], peak)
		m.I("MOVD R%r, R%w", m.Least(m.OrNot(lanes, mask)), lane)
		m.I("CMPW $0, R%r", lane)
		m.I("BGE %j", "found")
	})
	m.Label("none")
	m.Answer(none)
	m.Return()
	m.Label("found")
	m.I("SUB R%r, R%m", left, n)
	m.I("ADD R%r, R%m", lane, n)
	m.Answer(n)
	m.End()
}

// partial is the number of partial sums of a sum of products.
const partial = 32

// sumOfProducts writes a sum of products in float64, of squares without the argument y.
func (m machine) sumOfProducts(name, signature, doc string) {
	d := m // whose elements are float64
	d.Size = 8
	m.Begin(name, signature, doc+", from 32 partial sums as the reference has them.")
	x, n := m.Argument("x"), m.Argument("n")
	operands := []arm64.GP{x}
	if name == "dot" {
		operands = append(operands, m.Argument("y"))
	}
	acc := each(partial/2, func(int) arm64.Vec { return m.Zero() })
	add := func(acc arm64.Vec, factors []arm64.Vec) {
		d.Into(acc).Add(acc, d.Mul(factors[0], factors[len(factors)-1]))
	}
	m.I("CMP $%d, R%r", partial, n)
	m.I("BLT %j", "end")
	m.Label("block")
	for i := 0; i < partial; i += 4 {
		var low, high []arm64.Vec
		for _, p := range operands {
			if m.Size == 4 {
				v := m.Load(p, 4*i)
				low, high = append(low, m.Lengthen(v)), append(high, m.LengthenUpper(v))
			} else {
				v := m.Vecs(2)
				m.LoadTo(v, p, 8*i)
				low, high = append(low, v[0]), append(high, v[1])
			}
		}
		add(acc[i/2], low)
		add(acc[i/2+1], high)
	}
	for _, p := range operands {
		m.I("ADD $%d, R%m", partial*m.Size, p)
	}
	m.I("SUB $%d, R%m", partial, n)
	m.I("CMP $%d, R%r", partial, n)
	m.I("BGE %j", "block")
	m.Label("end")
	// Pairs of elements, and one element with a 0.
	some := func(i int, load func(p arm64.GP) arm64.Vec) {
		var factors []arm64.Vec
		for _, p := range operands {
			v := load(p)
			if m.Size == 4 {
				v = m.Lengthen(v)
			}
			factors = append(factors, v)
		}
		add(acc[i], factors)
	}
	for i := range acc {
		more := fmt.Sprintf("more%d", i)
		m.I("CMP $2, R%r", n)
		m.I("BGE %j", more)
		m.I("CBZ R%r, %j", n, "sum")
		some(i, func(p arm64.GP) arm64.Vec { return m.LoadElement(p, 2*i*m.Size) })
		m.I("B %j", "sum")
		m.Label(more)
		some(i, func(p arm64.GP) arm64.Vec {
			if m.Size == 4 {
				return d.LoadElement(p, 8*i)
			}
			return m.Load(p, 16*i)
		})
		m.I("SUB $2, R%m", n)
	}
	m.Label("sum")
	for h := len(acc) / 2; h > 0; h /= 2 {
		for i := range h {
			d.Into(acc[i]).Add(acc[i], acc[i+h])
		}
	}
	d.AnswerElement(d.AddPairs(acc[0], acc[0]))
	m.End()
}
