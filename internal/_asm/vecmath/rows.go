package vecmath

import (
	"math"

	. "github.com/seed-feabd252/randfeat/internal/_asm/kernel"
)

// rows writes the functions that go down the rows of a matrix, some columns at a time.
func (m writer[V, G]) rows() {
	m.Begin("peakRows", "(peaks, x *T, stride, rows, n int)",
		"sets peaks[j] = x[j] where peaks[j] < x[j] < +Inf, for rows of n elements.")
	peaks, x, rows := m.Argument("peaks"), m.Argument("x"), m.walk()
	inf := m.Value(math.Inf(1))
	m.loop("columns", rows.n, 4, func(columns position[V, G]) {
		acc := columns.load(peaks)
		m.each(columns, x, rows, func(row G) {
			for j, v := range columns.load(row) {
				m.choose(m.both(m.below(acc[j], v), m.below(v, inf)), v, acc[j])
			}
		})
		columns.store(acc, peaks)
	})
	m.End()

	m.Begin("expRows", "(x *T, stride int, a, b, sums *T, rows, n int)",
		"sets x[j] = e^((x[j] − a[j]) − b[j]) and sums[j] = sums[j] + x[j] in rows of n elements, in ascending order.")
	x, rows = m.Argument("x"), m.walk()
	p, q, sums := m.Argument("a"), m.Argument("b"), m.Argument("sums")
	exp := m.exponential()
	m.loop("columns", rows.n, m.unroll(4), func(columns position[V, G]) {
		sum := columns.load(sums)
		m.each(columns, x, rows, func(row G) {
			v := exp(m.difference(columns, row, p, q))
			columns.store(v, row)
			Each(m.Add, sum, v, sum)
		})
		columns.store(sum, sums)
	})
	m.End()
}

// walk returns the walk that the arguments stride, rows and n give.
func (m writer[V, G]) walk() *walk[G] {
	w := &walk[G]{stride: m.Argument("stride"), rows: m.Argument("rows"), n: m.Argument("n")}
	m.InBytes(w.stride)
	return w
}

// each writes a loop over the rows of x, of which there is one at least.
func (m writer[V, G]) each(columns position[V, G], x G, rows *walk[G], body func(row G)) {
	start, row, left := rows.label(), columns.row(x), m.CopyOf(rows.rows)
	m.Label(start)
	body(row)
	m.AdvanceBy(row, rows.stride)
	m.Repeat(start, left)
}

// outer writes the functions that add an outer product to the rows of a matrix and sum
// the rows, or only sum them. Columns stay in registers while the rows pass.
func (m writer[V, G]) outer() {
	m.Begin("outer", "(s *T, stride int, a, b, x, y *T, rows, n int)",
		"sets row s[i] = s[i] + a[i]·x and y = y + b[i]·s[i] for i in ascending order and rows of n elements.")
	m.sumRows(nil, []G{m.Argument("a"), m.Argument("x")})

	m.Begin("decayOuter", "(s *T, stride int, d, a, b, x, y *T, rows, n int)",
		"sets row s[i] = d[i]·s[i] + a[i]·x and y = y + b[i]·s[i] for i in ascending order and rows of n elements.")
	m.sumRows([]G{m.Argument("d")}, []G{m.Argument("a"), m.Argument("x")})

	m.Begin("sumRows", "(s *T, stride int, b, y *T, rows, n int)",
		"sets y = y + b[i]·s[i] for i in ascending order and rows of n elements.")
	m.sumRows(nil, nil)
}

// sumRows writes a function of outer, with factors of rows and of an outer product, if any.
func (m writer[V, G]) sumRows(decays, product []G) {
	s, stride, b, y := m.Argument("s"), m.Argument("stride"), m.Argument("b"), m.Argument("y")
	rows := &walk[G]{stride: stride, rows: m.Argument("rows"), n: m.Argument("n")}
	m.InBytes(stride)
	slices := append([]G{b}, decays...)
	if product != nil {
		slices = append(slices, product[0])
	}
	m.loop("columns", rows.n, m.unroll(4), func(columns position[V, G]) {
		var v []V
		if product != nil {
			v = columns.load(product[1])
		}
		sum := columns.load(y)
		m.weighted(columns, s, rows, slices, func(row G, weight func(slice G) V) {
			q := weight(b)
			w := columns.load(row)
			for _, d := range decays {
				Each(m.Mul, w, weight(d), w)
			}
			if product != nil {
				p := weight(product[0])
				for j := range w {
					m.Add(w[j], m.Mul(v[j], p), w[j])
				}
				columns.store(w, row)
			}
			for j := range w {
				m.Mul(w[j], q, w[j])
				m.Add(sum[j], w[j], sum[j])
			}
		})
		columns.store(sum, y)
	})
	m.End()
}
