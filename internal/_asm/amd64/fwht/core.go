package fwht

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// combine writes, for each of count groups of four rows, the eight combinations
// of their first vectors and the negatives of those.
func (m machine) combine() {
	m.Begin("combine", "(groups, x *T, stride, count int)",
		"writes the 16 combinations of the first vectors of each of count groups of four rows of x, stride elements apart, into groups.")
	g, x := amd64.Argument("groups"), amd64.Argument("x")
	stride, count := amd64.Argument("stride"), amd64.Argument("count")
	SHLQ(U8(m.Shift()), stride)
	triple := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, triple)
	mask := m.Vec()
	m.Fill(amd64.Static("negative"+m.Name), mask)
	Label("loop")
	row := []Op{Mem{Base: x}, Mem{Base: x, Index: stride, Scale: 1}, Mem{Base: x, Index: stride, Scale: 2}, Mem{Base: x, Index: triple, Scale: 1}}
	for k, v := range m.combinations(row) {
		m.Move(v, Mem{Base: g, Disp: k * m.Width()})
		negative := m.Vec()
		VXORPS(v, mask, negative)
		m.Move(negative, Mem{Base: g, Disp: (8 + k) * m.Width()})
	}
	ADDQ(I32(16*m.Width()), g)
	LEAQ(Mem{Base: x, Index: stride, Scale: 4}, x)
	amd64.Repeat("loop", count)
	amd64.End()
}

// combinations returns the sums and differences that a group of four contributes
// to the rows of a core, in the order of the reference.
func (m machine) combinations(row []Op) []Op {
	load := func(i int) Op {
		v := m.Vec()
		m.Move(row[i], v)
		return v
	}
	both := func(a, b Op) (sum, difference Op) {
		sum, difference = m.Vec(), m.Vec()
		m.Add(b, a, sum)
		m.Sub(b, a, difference)
		return sum, difference
	}
	p, q := both(load(0), load(1))
	r, s := both(load(2), load(3))
	var c []Op
	for _, a := range []Op{p, q} {
		for _, b := range []Op{r, s} {
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
	y, stride := amd64.Argument("y"), amd64.Argument("stride")
	g, terms := amd64.Argument("groups"), amd64.Argument("terms")
	n, count := amd64.Argument("n"), amd64.Argument("count")
	SHLQ(U8(m.Shift()), stride)
	Label("rows")
	acc := []Op{m.Vec(), m.Vec(), m.Vec(), m.Vec()}
	at := GP64()
	next := []Register{GP64(), GP64(), GP64()}
	LEAQ(Mem{Base: terms, Index: n, Scale: 2}, next[0])
	LEAQ(Mem{Base: next[0], Index: n, Scale: 2}, next[1])
	LEAQ(Mem{Base: next[1], Index: n, Scale: 2}, next[2])
	rows := append([]Register{terms}, next...)
	offset := func(i int) Mem {
		o := GP64()
		MOVWQZX(Mem{Base: rows[i], Index: at, Scale: 2}, o)
		SHLQ(U8(m.Log+m.Shift()), o)
		return Mem{Base: g, Index: o, Scale: 1}
	}
	XORQ(at, at)
	for i := range acc {
		m.Move(offset(i), acc[i])
	}
	Label("terms")
	INCQ(at)
	CMPQ(at, n)
	JGE(LabelRef("store"))
	for i := range acc {
		m.Add(offset(i), acc[i], acc[i])
	}
	JMP(LabelRef("terms"))
	Label("store")
	for i := range acc {
		m.Move(acc[i], Mem{Base: y})
		ADDQ(stride, y)
	}
	MOVQ(rows[3], terms)
	LEAQ(Mem{Base: terms, Index: n, Scale: 2}, terms)
	amd64.Repeat("rows", count)
	amd64.End()
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
	x, stride, columns, sums := amd64.Argument("x"), amd64.Argument("stride"), amd64.Argument("columns"), amd64.Argument("sums")
	SHLQ(U8(m.Shift()), stride)
	SHLQ(U8(m.Shift()), columns)
	triple := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, triple)
	one := m.one()

	Label("column")
	// rows walks through the rows four by four.
	rows := GP64()
	walk := func(i int) Mem {
		return []Mem{{Base: rows}, {Base: rows, Index: stride, Scale: 1}, {Base: rows, Index: stride, Scale: 2}, {Base: rows, Index: triple, Scale: 1}}[i%4]
	}
	next := func() { LEAQ(Mem{Base: rows, Index: stride, Scale: 4}, rows) }
	n := h / 4
	input := GP64()
	MOVQ(x, input)
	for from := 0; from < n; from += inRegisters {
		to := min(from+inRegisters, n)
		groups := map[int][]Op{}
		MOVQ(input, rows)
		for g := from; g < to; g++ {
			groups[g] = m.combinations([]Op{walk(0), walk(1), walk(2), walk(3)})
			next()
		}
		MOVQ(rows, input)
		MOVQ(x, rows)
		for i := range h {
			acc := m.Vec()
			start := from
			if from > 0 {
				m.Move(Mem{Base: sums, Disp: i * m.Width()}, acc)
			} else {
				m.first(acc, one, groups, terms[i*n:])
				start = min(2, to)
			}
			for g := start; g < to; g++ {
				if kind := terms[i*n+g] % 16; kind < 8 {
					m.Add(groups[g][kind], acc, acc)
				} else {
					m.Sub(groups[g][kind-8], acc, acc)
				}
			}
			if to < n {
				m.Move(acc, Mem{Base: sums, Disp: i * m.Width()})
			} else {
				m.Move(acc, walk(i))
				if i%4 == 3 {
					next()
				}
			}
		}
	}
	ADDQ(I32(m.Width()), x)
	SUBQ(I32(m.Width()), columns)
	JNZ(LabelRef("column"))
	amd64.End()
}

// first sets acc to the sum of the first two terms.
func (m machine) first(acc, one Op, groups map[int][]Op, terms []uint16) {
	a, b := groups[0][terms[0]%8], groups[1][terms[1]%8]
	switch negative := [2]bool{terms[0]%16 >= 8, terms[1]%16 >= 8}; negative {
	case [2]bool{false, false}:
		m.Add(b, a, acc)
	case [2]bool{false, true}:
		m.Sub(b, a, acc)
	case [2]bool{true, false}:
		m.Sub(a, b, acc)
	default:
		m.Move(a, acc)
		m.TimesNegated(b, one, acc)
	}
}
