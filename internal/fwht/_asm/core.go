package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/hadamard"
)

// combine writes, for each of count groups of four rows, the eight combinations
// of their first vectors and the negatives of those.
func (m machine) combine() {
	TEXT("combine"+m.name, NOSPLIT, fmt.Sprintf("func(groups, x *%s, stride, count int)", m.element()))
	Doc(fmt.Sprintf("combine%s writes the 16 combinations of the first vectors of each of count groups of four rows of x, stride elements apart, into groups.", m.name))
	Pragma("noescape")
	g, x := Load(Param("groups"), GP64()), Load(Param("x"), GP64())
	stride, count := Load(Param("stride"), GP64()), Load(Param("count"), GP64())
	SHLQ(U8(log2(m.size)), stride)
	triple := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, triple)
	mask := m.vec()
	m.fill(NewDataAddr(Symbol{Name: "negative" + m.name, Static: true}, 0), mask)
	Label("loop")
	row := []Op{Mem{Base: x}, Mem{Base: x, Index: stride, Scale: 1}, Mem{Base: x, Index: stride, Scale: 2}, Mem{Base: x, Index: triple, Scale: 1}}
	for k, v := range m.combinations(row) {
		m.move(v, Mem{Base: g, Disp: k * m.width()})
		negative := m.vec()
		VXORPS(v, mask, negative)
		m.move(negative, Mem{Base: g, Disp: (8 + k) * m.width()})
	}
	ADDQ(I32(16*m.width()), g)
	LEAQ(Mem{Base: x, Index: stride, Scale: 4}, x)
	DECQ(count)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// combinations returns the sums and differences that a group of four contributes
// to the rows of a core, in the order of the reference.
func (m machine) combinations(row []Op) []Op {
	load := func(i int) Op {
		v := m.vec()
		m.move(row[i], v)
		return v
	}
	both := func(a, b Op) (sum, difference Op) {
		sum, difference = m.vec(), m.vec()
		m.add(b, a, sum)
		m.sub(b, a, difference)
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
	TEXT("sums"+m.name, NOSPLIT, fmt.Sprintf("func(y *%s, stride int, groups *%s, terms *uint16, n, count int)", m.element(), m.element()))
	Doc(fmt.Sprintf("sums%s writes the first vectors of 4·count rows of y, stride elements apart, each the sum of the n vectors of groups that its terms number, in their order.", m.name))
	Pragma("noescape")
	y, stride := Load(Param("y"), GP64()), Load(Param("stride"), GP64())
	g, terms := Load(Param("groups"), GP64()), Load(Param("terms"), GP64())
	n, count := Load(Param("n"), GP64()), Load(Param("count"), GP64())
	SHLQ(U8(log2(m.size)), stride)
	Label("rows")
	acc := []Op{m.vec(), m.vec(), m.vec(), m.vec()}
	at := GP64()
	next := []Register{GP64(), GP64(), GP64()}
	LEAQ(Mem{Base: terms, Index: n, Scale: 2}, next[0])
	LEAQ(Mem{Base: next[0], Index: n, Scale: 2}, next[1])
	LEAQ(Mem{Base: next[1], Index: n, Scale: 2}, next[2])
	rows := append([]Register{terms}, next...)
	offset := func(i int) Mem {
		o := GP64()
		MOVWQZX(Mem{Base: rows[i], Index: at, Scale: 2}, o)
		SHLQ(U8(m.log+int(log2(m.size))), o)
		return Mem{Base: g, Index: o, Scale: 1}
	}
	XORQ(at, at)
	for i := range acc {
		m.move(offset(i), acc[i])
	}
	Label("terms")
	INCQ(at)
	CMPQ(at, n)
	JGE(LabelRef("store"))
	for i := range acc {
		m.add(offset(i), acc[i], acc[i])
	}
	JMP(LabelRef("terms"))
	Label("store")
	for i := range acc {
		m.move(acc[i], Mem{Base: y})
		ADDQ(stride, y)
	}
	MOVQ(rows[3], terms)
	LEAQ(Mem{Base: terms, Index: n, Scale: 2}, terms)
	DECQ(count)
	JNZ(LabelRef("rows"))
	VZEROUPPER()
	RET()
}

// cores are the orders that have kernels of their own.
var cores = []int{12, 20, 28}

// inRegisters is the number of groups of four whose combinations fit the
// registers.
const inRegisters = 3

// core writes the core of order h, whose terms are numbered as in package fwht.
// The combinations of a few groups at a time are in registers; the sums over the
// groups before wait in a buffer meanwhile.
func (m machine) core(h int, terms []int) {
	name := fmt.Sprintf("core%d%s", h, m.name)
	TEXT(name, NOSPLIT, fmt.Sprintf("func(x *%s, stride, columns int, sums *%s)", m.element(), m.element()))
	Doc(fmt.Sprintf("%s applies the core of order %d to the first columns, a multiple of a vector, of %d rows of x, stride elements apart; sums has room for a vector a row.", name, h, h))
	Pragma("noescape")
	x, stride, columns, sums := Load(Param("x"), GP64()), Load(Param("stride"), GP64()), Load(Param("columns"), GP64()), Load(Param("sums"), GP64())
	SHLQ(U8(log2(m.size)), stride)
	SHLQ(U8(log2(m.size)), columns)
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
			acc := m.vec()
			start := from
			if from > 0 {
				m.move(Mem{Base: sums, Disp: i * m.width()}, acc)
			} else {
				m.first(acc, one, groups, terms[i*n:])
				start = min(2, to)
			}
			for g := start; g < to; g++ {
				if kind := terms[i*n+g] % 16; kind < 8 {
					m.add(groups[g][kind], acc, acc)
				} else {
					m.sub(groups[g][kind-8], acc, acc)
				}
			}
			if to < n {
				m.move(acc, Mem{Base: sums, Disp: i * m.width()})
			} else {
				m.move(acc, walk(i))
				if i%4 == 3 {
					next()
				}
			}
		}
	}
	ADDQ(I32(m.width()), x)
	SUBQ(I32(m.width()), columns)
	JNZ(LabelRef("column"))
	VZEROUPPER()
	RET()
}

// first sets acc to the sum of the first two terms.
func (m machine) first(acc, one Op, groups map[int][]Op, terms []int) {
	a, b := groups[0][terms[0]%8], groups[1][terms[1]%8]
	switch negative := [2]bool{terms[0]%16 >= 8, terms[1]%16 >= 8}; negative {
	case [2]bool{false, false}:
		m.add(b, a, acc)
	case [2]bool{false, true}:
		m.sub(b, a, acc)
	case [2]bool{true, false}:
		m.sub(a, b, acc)
	default:
		m.move(a, acc)
		m.fnmsub(b, one, acc)
	}
}

// termsOf returns the terms of the core of order h: for every row and group of
// four in turn, 16·group + the number of its combination, + 8 for the negative.
func termsOf(h int) []int {
	matrix := hadamard.Matrix[float64](h)
	var terms []int
	for i := range h {
		for g := range h / 4 {
			s := matrix.Row(i)[4*g : 4*g+4]
			k := 16 * g
			if s[1] != s[0] {
				k += 4
			}
			if s[2] != s[3] {
				k += 2
			}
			if s[2] != s[0] {
				k++
			}
			if s[0] < 0 {
				k += 8
			}
			terms = append(terms, k)
		}
	}
	return terms
}

// writeTerms writes the terms of all cores as Go source.
func writeTerms(path string) error {
	var b bytes.Buffer
	b.WriteString("// Code generated by the command in _asm. DO NOT EDIT.\n\npackage fwht\n\n// kernelTerms are the terms of the cores of order 12, 20 and 28, which have\n// kernels of their own.\nvar kernelTerms = [][]uint16{\n")
	for _, h := range cores {
		b.WriteString("{")
		for i, k := range termsOf(h) {
			if i%(h/4) == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "%d, ", k)
		}
		b.WriteString("\n},\n")
	}
	b.WriteString("}\n")
	source, err := format.Source(b.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(path, source, 0o666)
}
