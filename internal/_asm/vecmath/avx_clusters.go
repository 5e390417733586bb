package vecmath

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// highest writes the function that finds the clusters of points.
func (m avx) highest(k kernels[Op, Register]) {
	m.Begin("highest", "(peaks, at, x *T, stride int, minus *T, rows, n int)",
		"sets peaks[j] = x[i][j] − minus[i] and at[j] = i for the first row i where that is largest and above peaks[j].")
	peaks, at, x, d, minus := m.Argument("peaks"), m.Argument("at"), m.Argument("x"), k.walk(), m.Argument("minus")
	one := m.Value(1)
	m.loop("columns", d.n, m.unroll(4), func(columns block[Op, Register]) {
		peak, place := columns.load(peaks), columns.load(at)
		offset, row, c := m.CopyOf(minus), m.Zero(), m.Vec()
		k.each(columns, x, d, func(from Register) {
			m.Fill(Mem{Base: offset}, c)
			for j, v := range columns.load(from) {
				m.Sub(v, c, v)
				higher := m.below(peak[j], v)
				m.choose(higher, v, peak[j])
				m.choose(higher, row, place[j])
			}
			m.Add(row, one, row)
			ADDQ(U32(m.Size), offset)
		})
		columns.store(peak, peaks)
		columns.store(place, at)
	})
	m.End()
}

// uncertain writes the function that lists points of a cluster.
func (m avx) uncertain(k kernels[Op, Register]) {
	m.Begin("uncertain", "(list *int32, w, a *T, b, c T, bound *T, n int) int",
		"lists the k with w[k]²·c·(e^u − 1) > bound[k] for u = min(a[k]·b, 16), and returns their number.")
	list, w, a, bound, n := m.Argument("list"), m.Argument("w"), m.Argument("a"), m.Argument("bound"), m.Argument("n")
	factor, share, most := m.Number("b"), m.Number("c"), m.Value(16)
	unit, exp := m.Value(1), k.exponential()
	begin := GP64()
	MOVQ(list, begin)
	groups := 0
	m.loop("points", n, 1, func(points block[Op, Register]) {
		weight, u, limit := points.load(w)[0], points.load(a)[0], points.load(bound)[0]
		m.Mul(u, factor, u)
		m.Min(u, most, u)
		p := exp([]Op{u})[0]
		m.Sub(p, unit, p)
		m.Mul(weight, weight, weight)
		m.Mul(weight, share, weight)
		m.Mul(weight, p, weight)
		above := m.below(limit, weight)
		bits, first, bit := GP32(), GP32(), GP32()
		m.moveMask(above, bits)
		next, done := fmt.Sprintf("listed%d", groups), fmt.Sprintf("listed%dEnd", groups)
		groups++
		TESTL(bits, bits)
		JZ(LabelRef(done))
		whole := GP64()
		MOVQ(points.(avxBlock).at, whole)
		SHRQ(U8(m.Shift()), whole)
		MOVL(whole.As32(), first)
		Label(next)
		BSFL(bits, bit)
		ADDL(first, bit)
		MOVL(bit, Mem{Base: list})
		ADDQ(U32(4), list)
		rest := GP32()
		LEAL(Mem{Base: bits, Disp: -1}, rest)
		ANDL(rest, bits)
		JNZ(LabelRef(next))
		Label(done)
	})
	SUBQ(begin, list)
	SHRQ(U8(2), list)
	Store(list, ReturnIndex(0))
	m.End()
}
