// Package planerot writes the arm64 kernels of package planerot.
package planerot

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

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
	}
}

// turn rounds products before they are added, as the reference does.
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
