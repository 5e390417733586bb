package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
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

// core12Terms are those of package fwht.
var core12Terms = [36]int{
	4, 16, 32, 11, 22, 38, 2, 17, 41, 5, 23, 47,
	0, 20, 40, 6, 27, 46, 1, 18, 33, 7, 21, 39,
	1, 25, 36, 7, 31, 43, 0, 24, 34, 6, 30, 37,
}

// core12 writes the core of order 12 with all its combinations in registers.
func (m machine) core12() {
	TEXT("core12"+m.name, NOSPLIT, fmt.Sprintf("func(x *%s, stride, columns int)", m.element()))
	Doc(fmt.Sprintf("core12%s applies the core of order 12 to the first columns, a multiple of a vector, of 12 rows of x, stride elements apart.", m.name))
	Pragma("noescape")
	x, stride, columns := Load(Param("x"), GP64()), Load(Param("stride"), GP64()), Load(Param("columns"), GP64())
	SHLQ(U8(log2(m.size)), stride)
	SHLQ(U8(log2(m.size)), columns)
	triple, x4, x8 := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, triple)
	LEAQ(Mem{Base: x, Index: stride, Scale: 4}, x4)
	LEAQ(Mem{Base: x, Index: stride, Scale: 8}, x8)
	row := func(i int) Op {
		base := []Register{x, x4, x8}[i/4]
		return []Op{Mem{Base: base}, Mem{Base: base, Index: stride, Scale: 1}, Mem{Base: base, Index: stride, Scale: 2}, Mem{Base: base, Index: triple, Scale: 1}}[i%4]
	}
	one := m.vec()
	m.fill(NewDataAddr(Symbol{Name: fmt.Sprintf("sign0F%dAVX512", 8*m.size), Static: true}, 0), one)
	Label("column")
	var groups [3][]Op
	for g := range groups {
		groups[g] = m.combinations([]Op{row(4 * g), row(4*g + 1), row(4*g + 2), row(4*g + 3)})
	}
	for i := range 12 {
		acc := m.vec()
		var value [3]Op
		var negative [3]bool
		for g := range groups {
			kind := core12Terms[3*i+g] % 16
			value[g], negative[g] = groups[g][kind%8], kind >= 8
		}
		switch {
		case !negative[0] && !negative[1]:
			m.add(value[1], value[0], acc)
		case !negative[0]:
			m.sub(value[1], value[0], acc)
		case !negative[1]:
			m.sub(value[0], value[1], acc)
		default:
			m.move(value[0], acc)
			m.fnmsub(value[1], one, acc)
		}
		if negative[2] {
			m.sub(value[2], acc, acc)
		} else {
			m.add(value[2], acc, acc)
		}
		m.move(acc, row(i))
	}
	for _, base := range []Register{x, x4, x8} {
		ADDQ(I32(m.width()), base)
	}
	SUBQ(I32(m.width()), columns)
	JNZ(LabelRef("column"))
	VZEROUPPER()
	RET()
}
