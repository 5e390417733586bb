package vecmath

import "github.com/seed-feabd252/randfeat/internal/_asm/arm64"

// pick writes the function that gathers elements. NEON has no gather: each element is a load of its
// own. The function takes whole blocks of eight elements.
func (m neon) pick() {
	m.Begin("pick", "(dst, x *T, at *int32, a *T, count int)",
		"sets dst[k] = a[k]·x[at[k]] for count blocks of 8 elements.")
	dst, x, at, a, count := m.Argument("dst"), m.Argument("x"), m.Argument("at"), m.Argument("a"), m.Argument("count")
	const elements = 8
	vectors := elements / m.Lanes()
	m.Label("block")
	var picked []arm64.Vec
	for k := 0; k < elements; k += 2 {
		i, j := m.GP(), m.GP()
		m.I("LDPSW %d(R%r), (R%w, R%w)", 4*k, at, i, j)
		picked = append(picked, m.Permute("VZIP1", m.LoadElementOf(x, i), m.LoadElementOf(x, j)))
	}
	if m.Size == 4 {
		for v := range vectors {
			picked[v] = m.PermuteDoubles("VZIP1", picked[2*v], picked[2*v+1])
		}
	}
	factors := m.Vecs(vectors)
	m.LoadTo(factors, a, 0)
	for v, f := range factors {
		m.Mul(f, picked[v], f)
	}
	m.StoreAll(factors, dst, 0)
	m.I("ADD $%d, R%m", 4*elements, at)
	m.I("ADD $%d, R%m", elements*m.Size, a)
	m.I("ADD $%d, R%m", elements*m.Size, dst)
	m.Repeat("block", count)
	m.End()
}
