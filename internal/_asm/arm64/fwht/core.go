package fwht

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// combine writes, for each of count groups of four rows, the eight combinations
// of their first vectors and the negatives of those.
func (m machine) combine() {
	m.Begin("combine", "(groups, x *T, stride, count int)",
		"writes the 16 combinations of the first vectors of each of count groups of four rows of x, stride elements apart, into groups.")
	g, row := m.Argument("groups"), m.Argument("x")
	stride, count := m.Bytes("stride"), m.Argument("count")
	m.Label("loop")
	c := m.combinations(row, stride)
	for _, v := range c[:8:8] {
		c = append(c, m.Neg(v))
	}
	m.StoreAll(c, g, 0)
	m.I("ADD $%d, R%m", 16*arm64.Width, g)
	m.Repeat("loop", count)
	m.End()
}

// combinations returns the sums and differences that a group of four contributes
// to the rows of a core, in the order of the reference. row goes on to the next group.
func (m machine) combinations(row, stride arm64.GP) []arm64.Vec {
	load := func() arm64.Vec {
		v := m.Load(row, 0)
		m.I("ADD R%r, R%m", stride, row)
		return v
	}
	both := func(a, b arm64.Vec) (sum, difference arm64.Vec) { return m.Add(a, b), m.Sub(a, b) }
	p, q := both(load(), load())
	r, s := both(load(), load())
	var c []arm64.Vec
	for _, a := range []arm64.Vec{p, q} {
		for _, b := range []arm64.Vec{r, s} {
			sum, difference := both(a, b)
			c = append(c, sum, difference)
		}
	}
	return c
}

// sums writes, four rows at a time, the sum of the combinations that each row of
// a core names.
func (m machine) sums() {
	m.Begin("sums", "(y *T, stride int, groups *T, terms *uint16, n, count int)",
		"writes the first vectors of 4·count rows of y, stride elements apart, each the sum of the n vectors of groups that its terms number, in their order.")
	y, stride, g := m.Argument("y"), m.Bytes("stride"), m.Argument("groups")
	next, n, count := m.Argument("terms"), m.Argument("n"), m.Argument("count")
	m.Label("rows")
	terms := make([]arm64.GP, 4)
	for i := range terms {
		terms[i] = m.CopyOf(next)
		m.I("ADD R%r<<1, R%m", n, next)
	}
	vector := func(i int) arm64.Vec {
		at := m.GP()
		m.I("MOVHU.P 2(R%m), R%w", terms[i], at)
		m.I("ADD R%r<<4, R%r, R%w", at, g, at)
		return m.Load(at, 0)
	}
	acc := make([]arm64.Vec, 4)
	for i := range acc {
		acc[i] = vector(i)
	}
	left := m.CopyOf(n)
	m.Label("terms")
	m.I("SUBS $1, R%m", left)
	m.I("BEQ %j", "store")
	for i := range acc {
		m.Into(acc[i]).Add(acc[i], vector(i))
	}
	m.I("B %j", "terms")
	m.Label("store")
	for i := range acc {
		m.Store(acc[i], y, 0)
		m.I("ADD R%r, R%m", stride, y)
	}
	m.Repeat("rows", count)
	m.End()
}

// inRegisters is the number of groups of four whose combinations fit the
// registers.
const inRegisters = 3

// core writes the core of order h, whose terms are numbered as in package fwht.
// The combinations of a few groups at a time are in registers; the sums over the
// groups before wait in a buffer meanwhile.
func (m machine) core(h int, terms []uint16) {
	m.Begin(fmt.Sprintf("core%d", h), "(x *T, stride, columns int, sums *T)",
		fmt.Sprintf("applies the core of order %[1]d to the first columns, a multiple of a vector, of %[1]d rows of x, stride elements apart; sums has room for a vector a row.", h))
	x, stride, columns, sums := m.Argument("x"), m.Bytes("stride"), m.Argument("columns"), m.Argument("sums")
	m.Label("column")
	n := h / 4
	input := m.CopyOf(x)
	for from := 0; from < n; from += inRegisters {
		to := min(from+inRegisters, n)
		groups := map[int][]arm64.Vec{}
		for g := from; g < to; g++ {
			groups[g] = m.combinations(input, stride)
		}
		output := m.CopyOf(x)
		for i := range h {
			var acc arm64.Vec
			start := from
			if from > 0 {
				acc = m.Load(sums, i*arm64.Width)
			} else {
				acc = m.first(groups, terms[i*n:])
				start = min(2, to)
			}
			for g := start; g < to; g++ {
				if kind := terms[i*n+g] % 16; kind < 8 {
					acc = m.Add(acc, groups[g][kind])
				} else {
					acc = m.Sub(acc, groups[g][kind-8])
				}
			}
			if to < n {
				m.Store(acc, sums, i*arm64.Width)
			} else {
				m.Store(acc, output, 0)
				m.I("ADD R%r, R%m", stride, output)
			}
		}
	}
	m.I("ADD $%d, R%m", arm64.Width, x)
	m.I("SUBS $%d, R%m", m.Lanes(), columns)
	m.I("BNE %j", "column")
	m.End()
}

// first returns the sum of the first two terms.
func (m machine) first(groups map[int][]arm64.Vec, terms []uint16) arm64.Vec {
	a, b := groups[0][terms[0]%8], groups[1][terms[1]%8]
	switch negative := [2]bool{terms[0]%16 >= 8, terms[1]%16 >= 8}; negative {
	case [2]bool{false, false}:
		return m.Add(a, b)
	case [2]bool{false, true}:
		return m.Sub(a, b)
	case [2]bool{true, false}:
		return m.Sub(b, a)
	}
	return m.Sub(m.Neg(a), b)
}
