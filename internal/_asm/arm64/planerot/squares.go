package planerot

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// enter transposes squares of as many rows and columns as a vector has lanes in registers.
func (m machine) enter() {
	m.Begin("enter", "(block *T, step int, x *T, stride, rows, cols int)",
		"writes column j of the rows of x at block + j·step, with the last row in place of those beyond it and zeros in place of columns beyond cols of the last square.")
	block, step := m.Argument("block"), m.Argument("step")
	m.squares("x", func(rows []arm64.GP, last *arm64.GP) {
		x := make([]arm64.Vec, len(rows))
		for i, row := range rows {
			if last != nil {
				x[i] = m.LoadFirst(fmt.Sprintf("row%d", i), row, *last)
			} else {
				x[i] = m.Load(row, 0)
			}
		}
		for _, v := range m.Transpose(x) {
			m.Store(v, block, 0)
			m.I("ADD R%r, R%m", step, block)
		}
	})
}

func (m machine) leave() {
	m.Begin("leave", "(block *T, step int, y *T, stride, rows, cols int)",
		"writes the vectors at block + j·step as column j < cols of the rows of y. Lanes beyond rows repeat the last row: the same bits go there again.")
	block, step := m.Argument("block"), m.Argument("step")
	m.squares("y", func(rows []arm64.GP, last *arm64.GP) {
		x := make([]arm64.Vec, len(rows))
		for i := range x {
			x[i] = m.Load(block, 0)
			m.I("ADD R%r, R%m", step, block)
		}
		for i, v := range m.Transpose(x) {
			if last != nil {
				m.StoreFirst(fmt.Sprintf("row%d", i), v, rows[i], 0, *last)
			} else {
				m.Store(v, rows[i], 0)
			}
		}
	})
}

// squares writes a loop over the argument cols, a vector at a time, and then for the columns left:
// only then last, their number, is not nil. rows are where the columns are in as many rows as a
// vector has lanes. The last row stands for those beyond it.
func (m machine) squares(matrix string, body func(rows []arm64.GP, last *arm64.GP)) {
	pointers := []arm64.GP{m.Argument(matrix)}
	stride, rows, cols := m.Argument("stride"), m.Argument("rows"), m.Argument("cols")
	for i := 1; i < m.Lanes(); i++ {
		before, next := pointers[i-1], m.GP()
		m.I("ADD R%r, R%r, R%w", stride, before, next)
		m.I("CMP $%d, R%r", i, rows)
		m.I("CSEL GT, R%r, R%r, R%w", next, before, next)
		pointers = append(pointers, next)
	}
	m.Label("loop")
	m.I("CMP $%d, R%r", m.Lanes(), cols)
	m.I("BLT %j", "rest")
	body(pointers, nil)
	for _, p := range pointers {
		m.I("ADD $%d, R%m", arm64.Width, p)
	}
	m.I("SUB $%d, R%m", m.Lanes(), cols)
	m.Jump("loop")
	m.Label("rest")
	m.I("CBZ R%r, %j", cols, "done")
	body(pointers, &cols)
	m.Label("done")
	m.End()
}
