// Package planerot writes the arm64 kernels of package planerot.
package planerot

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// machine is a machine with the kernels as methods.
type machine struct{ arm64.Machine }

// Write writes all kernels.
func Write(f *arm64.File) {
	for _, general := range arm64.Machines(f) {
		m := machine{general}
		for vectors := 1; vectors <= 4; vectors++ {
			m.turn(vectors)
		}
		m.enter()
		m.leave()
		m.zero()
	}
}

// turn writes the rotations of a block with so many vectors to a coordinate.
// Products are rounded before they are added, as in the reference.
func (m machine) turn(vectors int) {
	m.Begin(fmt.Sprintf("turn%d", vectors), "(block *T, turns *int32, count, step, i, j int)",
		fmt.Sprintf("rotates a block with %d vectors to a coordinate. The next of count rotations is step bytes after turns; its axes are at i and j.", vectors))
	block, turns, count, step := m.Argument("block"), m.Argument("turns"), m.Argument("count"), m.Argument("step")
	axes, size := []arm64.GP{m.Argument("i"), m.Argument("j")}, m.GP()
	m.I("MOVD $%d, R%w", vectors*arm64.Width, size)

	m.Label("loop")
	var at []arm64.GP
	for _, axis := range axes {
		p := m.GP()
		m.I("MOVWU (R%r)(R%r), R%w", turns, axis, p)
		m.I("MADD R%r, R%r, R%r, R%w", size, block, p, p)
		at = append(at, p)
	}
	cos, sin := m.LoadElement(turns, 8), m.LoadElement(turns, 8+m.Size)
	m.I("ADD R%r, R%m", step, turns)
	x, y := m.Vecs(vectors), m.Vecs(vectors)
	m.LoadTo(x, at[0], 0)
	m.LoadTo(y, at[1], 0)
	u, w := make([]arm64.Vec, vectors), make([]arm64.Vec, vectors)
	for v := range vectors {
		u[v] = m.Sub(m.MulLane(x[v], cos, 0), m.MulLane(y[v], sin, 0))
		w[v] = m.Add(m.MulLane(x[v], sin, 0), m.MulLane(y[v], cos, 0))
	}
	m.StoreAll(u, at[0], 0)
	m.StoreAll(w, at[1], 0)
	m.Repeat("loop", count)
	m.End()
}

// zero writes the sum of 0·x, in four sums that come together at the end. They
// are 0 or NaN: order does not matter.
func (m machine) zero() {
	m.Begin("zero", "(x *T, n int) T", "returns the sum of 0·x[i] over n elements: 0 or NaN.")
	x, n, zero := m.Argument("x"), m.Argument("n"), m.Zero()
	sums := make([]arm64.Vec, 4)
	for i := range sums {
		sums[i] = m.Zero()
	}
	loop := func(name string, elements int, load func() []arm64.Vec) {
		m.Label(name)
		m.I("CMP $%d, R%r", elements, n)
		m.I("BLT %j", name+"End")
		for i, v := range load() {
			m.Into(sums[i]).Add(sums[i], m.Mul(v, zero))
		}
		m.I("ADD $%d, R%m", elements*m.Size, x)
		m.I("SUB $%d, R%m", elements, n)
		m.I("B %j", name)
		m.Label(name + "End")
	}
	loop("four", 4*m.Lanes(), func() []arm64.Vec {
		v := m.Vecs(4)
		m.LoadTo(v, x, 0)
		return v
	})
	loop("one", 1, func() []arm64.Vec { return []arm64.Vec{m.LoadElement(x, 0)} })
	sum := m.Add(m.Add(sums[0], sums[1]), m.Add(sums[2], sums[3]))
	for h := 1; h < m.Lanes(); h *= 2 {
		sum = m.AddPairs(sum, sum)
	}
	m.AnswerElement(sum)
	m.End()
}
