package vecmath

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// largest returns a vector with the largest element of x in every lane.
func (m neon) largest(x arm64.Vec) arm64.Vec {
	for h := 1; h < m.Lanes(); h *= 2 {
		x = m.MaxPairs(x, x)
	}
	return x
}

func (m neon) returnLargest(v arm64.Vec) {
	m.AnswerElement(m.largest(v))
	m.End()
}

func (m neon) returnPlace(acc, minusInf arm64.Vec, n arm64.GP, sums func(b position[arm64.Vec, arm64.GP]) []arm64.Vec) {
	peak := m.largest(acc)
	lane, none := m.GP(), m.GP()
	m.I("MOVD $-1, R%w", none)
	m.I("CBNZ R%r, %j", m.Most(m.Equal(peak, minusInf)), "none")
	// The numbers of lanes, in each half of a lane of float64.
	lanes := m.Constant(arm64.Of(m.Machine, uint64(1)<<32, 0), arm64.Of(m.Machine, uint64(3)<<32|2, 1<<32|1))
	left := m.loop("search", n, 1, func(b position[arm64.Vec, arm64.GP]) {
		mask := m.Equal(sums(b)[0], peak)
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

func (m neon) sumOfProducts(name, signature, doc string) {
	d := m // whose elements are float64
	d.Size = 8
	m.Begin(name, signature, doc)
	x, n := m.Argument("x"), m.Argument("n")
	operands := []arm64.GP{x}
	if name == "dot" {
		operands = append(operands, m.Argument("y"))
	}
	acc := make([]arm64.Vec, partial/2)
	for i := range acc {
		acc[i] = m.Zero()
	}
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
		m.Jump("sum")
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
