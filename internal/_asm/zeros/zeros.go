// Package zeros writes what the kernels of package scan for scales with zero points share, for
// machines of both architectures.
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
