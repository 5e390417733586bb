package vecmath

import "github.com/seed-feabd252/randfeat/internal/_asm/arm64"

// outer writes the functions that add an outer product to the rows of a matrix and sum
// them, or only sum them. Columns stay in registers while the rows pass.
func (m machine) outer() {
	m.Begin("outer", "(s *T, stride int, a, b, x, y *T, rows, n int)",
		"sets row s[i] = s[i] + a[i]·x and y = y + b[i]·s[i] for i in ascending order and rows of n elements.")
	a, x := m.Argument("a"), m.Argument("x")
	m.sum(nil, &a, x)

	m.Begin("decayOuter", "(s *T, stride int, d, a, b, x, y *T, rows, n int)",
		"sets row s[i] = d[i]·s[i] + a[i]·x and y = y + b[i]·s[i] for i in ascending order and rows of n elements.")
	g, a, x := m.Argument("d"), m.Argument("a"), m.Argument("x")
	m.sum(&g, &a, x)

	m.Begin("sumRows", "(s *T, stride int, b, y *T, rows, n int)",
		"sets y = y + b[i]·s[i] for i in ascending order and rows of n elements.")
	m.sum(nil, nil, 0)
}

// sum writes a function of outer. Without g rows have no factors, and without a there is no product to add.
func (m machine) sum(g, a *arm64.GP, x arm64.GP) {
	s, b, y, d := m.Argument("s"), m.Argument("b"), m.Argument("y"), m.down()
	m.loop("columns", d.n, 4, func(columns block) {
		var v []arm64.Vec
		if a != nil {
			v = columns.load(x)
		}
		sum := columns.load(y)
		weights := m.CopyOf(b)
		var decays, factors arm64.GP
		if g != nil {
			decays = m.CopyOf(*g)
		}
		if a != nil {
			factors = m.CopyOf(*a)
		}
		d.each(columns, s, func(row arm64.GP) {
			w := columns.loadRow(row)
			if g != nil {
				p := m.BroadcastNext(decays)
				w = each(columns.k, func(j int) arm64.Vec { return m.Mul(w[j], p) })
			}
			if a != nil {
				p := m.BroadcastNext(factors)
				w = each(columns.k, func(j int) arm64.Vec { return m.Add(w[j], m.Mul(v[j], p)) })
				columns.storeRow(w, row)
			}
			q := m.BroadcastNext(weights)
			for j := range w {
				m.Into(sum[j]).Add(sum[j], m.Mul(w[j], q))
			}
		})
		columns.store(sum, y)
	})
	m.End()
}
