package vecmath

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// rows writes the functions that go down the rows of a matrix, some columns at a time.
func (m machine) rows() {
	m.Begin("peakRows", "(peaks, x *T, stride, rows, n int)",
		"sets peaks[j] = x[j] where peaks[j] < x[j] < +Inf, for rows of n elements.")
	peaks, x, d := m.Argument("peaks"), m.Argument("x"), m.down()
	inf := m.Value(math.Inf(1))
	m.loop("columns", d.n, 4, func(columns block) {
		acc := columns.load(peaks)
		d.each(columns, x, func(row arm64.GP) {
			for j, v := range columns.loadRow(row) {
				m.Choose(acc[j], m.And(m.Greater(v, acc[j]), m.Greater(inf, v)), v)
			}
		})
		columns.store(acc, peaks)
	})
	m.End()

	m.Begin("expRows", "(x *T, stride int, a, b, sums *T, rows, n int)",
		"sets x[j] = e^((x[j] − a[j]) − b[j]) and sums[j] = sums[j] + x[j] in rows of n elements, in ascending order.")
	x, d = m.Argument("x"), m.down()
	p, q, sums := m.Argument("a"), m.Argument("b"), m.Argument("sums")
	e := m.exponent()
	m.loop("columns", d.n, 4, func(columns block) {
		sum := columns.load(sums)
		d.each(columns, x, func(row arm64.GP) {
			v := e.exp(m.less(columns.loadRow(row), columns.load(p), columns.load(q)))
			columns.storeRow(v, row)
			for j := range v {
				m.Into(sum[j]).Add(sum[j], v[j])
			}
		})
		columns.store(sum, sums)
	})
	m.End()
}

// down is a walk down the rows of a matrix.
type down struct {
	machine
	stride, rows, n arm64.GP
	loops           int
}

// down returns the walk that the arguments stride, rows and n tell.
func (m machine) down() *down {
	return &down{machine: m, stride: m.Bytes("stride"), rows: m.Argument("rows"), n: m.Argument("n")}
}

// each writes a loop over the rows, of which there is one at least.
func (d *down) each(columns block, x arm64.GP, body func(row arm64.GP)) {
	start := fmt.Sprintf("rows%d", d.loops)
	d.loops++
	columns.uses(x)
	row, left := d.CopyOf(x), d.CopyOf(d.rows)
	d.Label(start)
	body(row)
	d.I("ADD R%r, R%m", d.stride, row)
	d.Repeat(start, left)
}
