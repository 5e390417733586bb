package vecmath

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// rows writes the functions that go down the rows of a matrix, some columns at a time.
func (m machine) rows() {
	m.Begin("peakRows", "(peaks, x *T, stride, rows, n int)",
		"sets peaks[j] = x[j] where peaks[j] < x[j] < +Inf, for rows of n elements.")
	peaks, x, d := amd64.Argument("peaks"), amd64.Argument("x"), m.down()
	inf := m.value(math.Inf(1))
	m.loop("columns", d.n, 4, func(columns block) {
		acc := columns.load(peaks)
		d.each(x, func(row Register) {
			for j, v := range columns.load(row) {
				m.choose(m.both(m.compare(lessOne, acc[j], v), m.compare(lessOne, v, inf)), v, acc[j])
			}
		})
		columns.store(acc, peaks)
	})
	amd64.End()

	m.Begin("expRows", "(x *T, stride int, a, b, sums *T, rows, n int)",
		"sets x[j] = e^((x[j] − a[j]) − b[j]) and sums[j] = sums[j] + x[j] in rows of n elements, in ascending order.")
	x, d = amd64.Argument("x"), m.down()
	p, q, sums := amd64.Argument("a"), amd64.Argument("b"), amd64.Argument("sums")
	e := m.exponent()
	m.loop("columns", d.n, m.unroll(4, 4), func(columns block) {
		sum := columns.load(sums)
		d.each(x, func(row Register) {
			v := columns.load(row)
			for _, from := range []Register{p, q} {
				each(m.Sub, columns.load(from), v, v)
			}
			v = e.exp(v)
			columns.store(v, row)
			for j := range v {
				m.Add(v[j], sum[j], sum[j])
			}
		})
		columns.store(sum, sums)
	})
	amd64.End()
}

// down is a walk down the rows of a matrix.
type down struct {
	stride, rows, n Register
	loops           int
}

// down returns the walk that the arguments stride, rows and n tell.
func (m machine) down() *down {
	d := &down{stride: amd64.Argument("stride"), rows: amd64.Argument("rows"), n: amd64.Argument("n")}
	SHLQ(U8(m.Shift()), d.stride)
	return d
}

// each writes a loop over the rows, of which there is one at least.
func (d *down) each(x Register, body func(row Register)) {
	start := fmt.Sprintf("rows%d", d.loops)
	d.loops++
	row, left := GP64(), GP64()
	MOVQ(x, row)
	MOVQ(d.rows, left)
	Label(start)
	body(row)
	ADDQ(d.stride, row)
	amd64.Repeat(start, left)
}
