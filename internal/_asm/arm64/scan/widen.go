package scan

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// widen writes the chunks of rows, two words at a time.
func (m machine) widen(width int) {
	m.Begin(fmt.Sprintf("widen%d", width), "(dst, rows *uint64, n, words int)", "turns rows into rows of so many words, as the reference does.")
	dst, rows, n, stride := m.Argument("dst"), m.Argument("rows"), m.Argument("n"), m.Argument("words")
	halves := m.GP()
	m.I("ADD $3, R%r, R%w", stride, halves)
	m.I("LSR $2, R%m", halves)
	m.I("LSL $3, R%m", stride)
	mask := map[int]uint64{5: 0x1010101010101010, 6: 0x3030303030303030}[width]
	lower, upper := m.Constant(0x0f0f0f0f0f0f0f0f, 0x0f0f0f0f0f0f0f0f), m.Constant(mask, mask)
	chunk := func(c int) func(to arm64.GP) {
		size := max(1, c*(width-4)/8)
		var shifts []arm64.Vec
		for i := 0; i < c; i += 2 {
			shift := func(i int) uint64 { return uint64(4 - (width-4)*(i/size)) }
			shifts = append(shifts, m.Constant(shift(i), shift(i+1)))
		}
		return func(to arm64.GP) {
			four := m.Vecs(c / 4)
			m.LoadTo(four, rows, 0)
			m.I("ADD $%d, R%m", 4*c, rows)
			var rest arm64.Vec
			if size == 2 {
				rest = m.Load(rows, 0)
			} else {
				double := m
				double.Size = 8
				rest = double.Broadcast(rows)
			}
			m.I("ADD $%d, R%m", 8*size, rows)
			for i, shift := range shifts {
				v := four[i%len(four)]
				if i >= len(four) {
					v = m.Right(v, 4)
				}
				m.Store(m.Or(m.And(v, lower), m.And(m.ShiftDoubles(rest, shift), upper)), to, 16*i)
			}
			m.I("ADD $%d, R%m", 8*c, to)
		}
	}
	whole, half := chunk(8), chunk(4)
	m.Label("row")
	to, left := m.CopyOf(dst), m.GP()
	m.I("LSR $1, R%r, R%w", halves, left)
	m.I("CBZ R%r, %j", left, "half")
	m.Label("whole")
	whole(to)
	m.Repeat("whole", left)
	m.Label("half")
	m.I("TBZ $0, R%r, %j", halves, "next")
	half(to)
	m.Label("next")
	m.I("ADD R%r, R%m", stride, dst)
	m.Repeat("row", n)
	m.End()
}
