package vecmath

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// outer writes the functions that add an outer product to the rows of a matrix and sum
// them, or only sum them. Columns stay in registers while the rows pass.
func (m machine) outer() {
	m.Begin("outer", "(s *T, stride int, a, b, x, y *T, rows, n int)",
		"sets row s[i] = s[i] + a[i]·x and y = y + b[i]·s[i] for i in ascending order and rows of n elements.")
	m.sum(nil, amd64.Argument("a"), amd64.Argument("x"))

	m.Begin("decayOuter", "(s *T, stride int, d, a, b, x, y *T, rows, n int)",
		"sets row s[i] = d[i]·s[i] + a[i]·x and y = y + b[i]·s[i] for i in ascending order and rows of n elements.")
	m.sum(amd64.Argument("d"), amd64.Argument("a"), amd64.Argument("x"))

	m.Begin("sumRows", "(s *T, stride int, b, y *T, rows, n int)",
		"sets y = y + b[i]·s[i] for i in ascending order and rows of n elements.")
	m.sum(nil, nil, nil)
}

// sum writes a function of outer. Without g rows have no factors, and without a there is no product to add.
func (m machine) sum(g, a, x Register) {
	s, stride, b, y := amd64.Argument("s"), amd64.Argument("stride"), amd64.Argument("b"), amd64.Argument("y")
	rows, n := amd64.Argument("rows"), amd64.Argument("n")
	SHLQ(U8(m.Shift()), stride)
	bodies := 0
	m.loop("columns", n, m.unroll(4, 4), func(columns block) {
		start := fmt.Sprintf("rows%d", bodies)
		bodies++
		row, i := GP64(), GP64()
		MOVQ(s, row)
		XORQ(i, i)
		var v []Op
		if a != nil {
			v = columns.load(x)
		}
		sum := columns.load(y)
		Label(start)
		q := m.Broadcast(Mem{Base: b, Index: i, Scale: uint8(m.Size)})
		w := columns.load(row)
		if g != nil {
			factor := m.Broadcast(Mem{Base: g, Index: i, Scale: uint8(m.Size)})
			for j := range w {
				m.Mul(factor, w[j], w[j])
			}
		}
		if a != nil {
			p := m.Broadcast(Mem{Base: a, Index: i, Scale: uint8(m.Size)})
			for j := range w {
				t := m.Vec()
				m.Mul(p, v[j], t)
				m.Add(t, w[j], w[j])
			}
			columns.store(w, row)
		}
		for j := range w {
			m.Mul(q, w[j], w[j])
			m.Add(w[j], sum[j], sum[j])
		}
		ADDQ(stride, row)
		INCQ(i)
		CMPQ(i, rows)
		JLT(LabelRef(start))
		columns.store(sum, y)
	})
	amd64.End()
}
