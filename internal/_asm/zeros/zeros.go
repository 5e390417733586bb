// Package zeros writes kernels of package scan for machines of both architectures: what those for
// scales with zero points share, and the kernel that widens codes of 3 bits.
package zeros

import "github.com/seed-feabd252/randfeat/internal/_asm/kernel"

// Machine is a machine with the operations of these kernels.
type Machine[V, G any] interface {
	kernel.Machine[V, G]
	// Pattern returns a vector with bits in every element.
	Pattern(bits uint64) V
	// BroadcastNext returns a vector with the element at p in every lane, and advances p by an
	// element.
	BroadcastNext(p G) V
	// Prefetch fetches what follows p in some time.
	Prefetch(p G)
}

// Rows of package scan: groups, and parts of groups with a mean and a sum of weights of their own.
const (
	groupRows = 64
	PartRows  = 16
)

// Of returns a function that returns what the zero points of scales add to them: scales less
// scales whose lower halves are zero.
func Of[V, G any](m Machine[V, G]) func(scales V) V {
	half, upper := m.Pattern(1<<15), m.Pattern(1<<32-1<<16)
	return func(scales V) V {
		v := m.AddInt(scales, half)
		m.And(v, upper, v)
		return m.Sub(scales, v, v)
	}
}

// Fold adds the second half of vectors to the first until one vector is left.
func Fold[V, G any](m Machine[V, G], v []V) V {
	for h := len(v) / 2; h > 0; h /= 2 {
		for i := range h {
			m.Add(v[i], v[i+h], v[i])
		}
	}
	return v[0]
}

// WriteScore writes the kernel of scores.
func WriteScore[V, G any](m Machine[V, G]) {
	m.Begin("score", "(x, scales, means *float32, groups int, factor, offset float32)",
		"turns the products of whole groups of rows into scores, as the reference does.")
	x, scales, means, groups := m.Argument("x"), m.Argument("scales"), m.Argument("means"), m.Argument("groups")
	factor, offset, zeros := m.Number("factor"), m.Number("offset"), Of(m)
	m.Label("group")
	var mean V
	for at := 0; at < 4*groupRows; at += m.Width() {
		if at%(4*PartRows) == 0 {
			mean = m.BroadcastNext(means)
		}
		scale := m.Load(scales, at)
		v, zero := m.Mul(scale, m.Load(x, at)), zeros(scale)
		m.Mul(zero, offset, zero)
		m.Add(v, zero, v)
		m.Mul(v, factor, v)
		m.Add(v, mean, v)
		m.Store(v, x, at)
	}
	m.Advance(x, 4*groupRows)
	m.Advance(scales, 4*groupRows)
	m.Repeat("group", groups)
	m.End()
}

// WriteWiden writes the kernel that widens codes of 3 bits: the highest bits of the codes of three
// parts of a group are the codes of the fourth.
func WriteWiden[V, G any](m Machine[V, G]) {
	m.Begin("widen", "(dst, rows *uint64, groups, part int)", "widens codes of 3 bits to 4 bits, as the reference does.")
	to, from, groups, part := []G{m.Argument("dst")}, []G{m.Argument("rows")}, m.Argument("groups"), m.Argument("part")
	after := func(p []G, n int) []G { // the same places of the next parts
		for range n {
			next := m.CopyOf(p[len(p)-1])
			m.AdvanceBy(next, part)
			p = append(p, next)
		}
		return p
	}
	from, to = after(from, 2), after(to, 3)
	two := m.CopyOf(part)
	m.AdvanceBy(two, part)
	three := m.CopyOf(two)
	m.AdvanceBy(three, part)
	codes, four := m.Pattern(0x77777777), m.Pattern(0x44444444)
	bits := []V{m.Pattern(0x11111111), m.Pattern(0x22222222), four}
	m.Label("group")
	left := m.CopyOf(part)
	m.Label("strip")
	var fourth V
	for i, p := range from {
		m.Prefetch(p)
		v := m.Load(p, 0)
		bit := m.Right(v, 3-i)
		m.And(bit, bits[i], bit)
		if i == 0 {
			fourth = bit
		} else {
			m.Or(fourth, bit, fourth)
		}
		m.And(v, codes, v)
		m.Store(m.AddInt(v, four, v), to[i], 0)
	}
	m.Store(m.AddInt(fourth, four, fourth), to[3], 0)
	for _, p := range append(from, to...) {
		m.Advance(p, m.Width())
	}
	m.RepeatBy("strip", left, m.Width())
	for _, p := range from {
		m.AdvanceBy(p, two)
	}
	for _, p := range to {
		m.AdvanceBy(p, three)
	}
	m.Repeat("group", groups)
	m.End()
}
