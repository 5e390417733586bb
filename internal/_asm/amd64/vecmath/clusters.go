package vecmath

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// clusters writes the functions that find the cluster of a point and the points of a cluster.
func (m machine) clusters() {
	m.Begin("highest", "(peaks, at, x *T, stride int, minus *T, rows, n int)",
		"sets peaks[j] = x[i][j] − minus[i] and at[j] = i for the first row i where that is largest and above peaks[j].")
	peaks, at, x, d, minus := amd64.Argument("peaks"), amd64.Argument("at"), amd64.Argument("x"), m.down(), amd64.Argument("minus")
	one := m.value(1)
	m.loop("columns", d.n, m.unroll(4, 4), func(columns block) {
		peak, place := columns.load(peaks), columns.load(at)
		offset, row, c := GP64(), m.Vec(), m.Vec()
		MOVQ(minus, offset)
		m.Xor(row, row, row)
		d.each(x, func(from Register) {
			m.Fill(Mem{Base: offset}, c)
			for j, v := range columns.load(from) {
				m.Sub(c, v, v)
				higher := m.compare(lessOne, peak[j], v)
				m.choose(higher, v, peak[j])
				m.choose(higher, row, place[j])
			}
			m.Add(one, row, row)
			ADDQ(U32(m.Size), offset)
		})
		columns.store(peak, peaks)
		columns.store(place, at)
	})
	amd64.End()

	m.Begin("uncertain", "(list *int32, w, a *T, b, c T, bound *T, n int) int",
		"lists the k with w[k]²·c·(e^u − 1) > bound[k] for u = min(a[k]·b, 16), and returns their number.")
	list, w, a, bound, n := amd64.Argument("list"), amd64.Argument("w"), amd64.Argument("a"), amd64.Argument("bound"), amd64.Argument("n")
	factor, share, most := m.argument("b"), m.argument("c"), m.value(16)
	unit, e := m.value(1), m.exponent()
	begin := GP64()
	MOVQ(list, begin)
	groups := 0
	m.loop("points", n, 1, func(points block) {
		weight, u, limit := points.load(w)[0], points.load(a)[0], points.load(bound)[0]
		m.Mul(factor, u, u)
		m.Min(most, u, u)
		p := e.exp([]Op{u})[0]
		m.Sub(unit, p, p)
		m.Mul(weight, weight, weight)
		m.Mul(share, weight, weight)
		m.Mul(p, weight, weight)
		above := m.compare(lessOne, limit, weight)
		bits, first, bit := GP32(), GP32(), GP32()
		if m.Wide {
			KMOVW(above, bits)
		} else {
			of(m, VMOVMSKPS, VMOVMSKPD)(above, bits)
		}
		next, done := fmt.Sprintf("listed%d", groups), fmt.Sprintf("listed%dEnd", groups)
		groups++
		TESTL(bits, bits)
		JZ(LabelRef(done))
		whole := GP64()
		MOVQ(points.at, whole)
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
	amd64.End()
}
