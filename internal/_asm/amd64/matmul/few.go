package matmul

import (
	"fmt"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// dotRows is what a transposed square, a register to transpose and a factor leave for sums.
func (m machine) dotRows() int { return min(8, len(m.vectors)-m.Lanes()-2) }

// formats are the formats of 16 bits, in the names of kernels.
var formats = []string{"Half", "BFloat"}

// dot writes products of so many rows of A with panels of rows of B, a row for each lane. Squares
// of B are transposed in registers. Elements of 16 bits are transposed as pairs or words and then
// widened, for a k that is a multiple of twice the lanes. Elements without a format are of type T.
func (m machine) dot(rows int, format string) {
	n, element, shift := m.Lanes(), "T", m.Shift()
	if format != "" {
		element, shift = "uint16", 1
	}
	m.Begin(fmt.Sprintf("dot%s%d", format, rows), "(k int, a left[T], b right["+element+"], c target[T], alpha, beta T, panels int)",
		fmt.Sprintf("computes C = α·A·Bᵀ + β·C for %d rows and panels of %d rows of B, for adjacent elements of rows.", rows, n))
	if rows == 1 && format != "" && !m.Wide {
		// Each addition to a sum waits for the one before: two panels have two sums.
		CMPQ(amd64.Number("panels"), U8(2))
		JLT(LabelRef("panel"))
		two := m
		two.suffix = "2"
		Label("pair")
		two.dotPanels(rows, 2, shift, format)
		SUBQ(U8(2), amd64.Number("panels"))
		JZ(LabelRef("end"))
		CMPQ(amd64.Number("panels"), U8(2))
		JGE(LabelRef("pair"))
	}
	Label("panel")
	m.dotPanels(rows, 1, shift, format)
	DECQ(amd64.Number("panels"))
	JNZ(LabelRef("panel"))
	Label("end")
	amd64.End()
}

// dotPanels multiplies rows of A by panels side by side: one, or two if there is one row of A and
// elements have a format. The elements of B have 1<<shift bytes.
func (m machine) dotPanels(rows, panels, shift int, format string) {
	n, together := m.Lanes(), m.Width()>>shift
	m.expect(rows, panels)
	k, stride, row := amd64.Argument("k"), amd64.Argument("b.row"), m.step("a.row")
	SHLQ(U8(shift), stride)
	b := [][]Register{m.rowsOf(amd64.Argument("b.first"), stride, n)}
	if panels == 2 {
		second := amd64.Argument("b.panel")
		SHLQ(U8(shift), second)
		ADDQ(amd64.Number("b.first"), second)
		b = append(b, m.rowsOf(second, stride, n))
	}
	a := m.rowsOf(amd64.Argument("a.first"), row, rows)
	chains := rows * panels
	sums, square, free := m.vectors[:chains], m.vectors[chains:chains+n], m.vectors[chains+n:]
	spare, factors := free[:1], free[1:]
	for _, s := range sums {
		m.Clear(s)
	}
	third := amd64.Triple(stride)
	count := 0
	add := func(x Op, l int, sums []VecPhysical) {
		for i, s := range sums {
			from := m.at(a, row, i)
			from.Disp = l * m.Size
			if m.Wide {
				amd64.Of(m.Machine, VFMADD231PS_BCST, VFMADD231PD_BCST)(from, x, s)
				continue
			}
			factor := factors[count%len(factors)]
			m.Fill(from, factor)
			m.Plus(factor, x, s)
			count++
		}
	}
	Label("loop" + m.suffix)
	if format == "" {
		CMPQ(k, U8(n))
		JLT(LabelRef("rest"))
	}
	for p := range panels {
		for i, v := range square {
			m.Move(m.at(b[p], stride, i), v)
		}
		next := GP64()
		MOVQ(b[p][0], next)
		ADDQ(amd64.Number("b.ahead"), next)
		for i := range n {
			if i > 0 && i%3 == 0 {
				ADDQ(third, next)
			}
			PREFETCHT1(m.at([]Register{next}, stride, i%3))
		}
		if format == "" {
			Label("square")
		}
		products := sums[p*rows:][:rows]
		switch {
		case format == "Half" && !m.Wide:
			words, wide := transposeWords(square, spare[0])
			for l := range together {
				from := words[l%n].AsX()
				if l >= n {
					from = wide.AsX()
					VEXTRACTI128(U8(1), words[l-n], from)
				}
				VCVTPH2PS(from, wide)
				add(wide, l, products)
			}
		case format != "":
			pairs, left := m.Transpose(square, spare)
			for l, x := range pairs {
				m.widenPairs(x, left[0], format)
				add(left[0], 2*l, products)
				add(x, 2*l+1, products)
			}
		default:
			columns, _ := m.Transpose(square, spare)
			for l, x := range columns {
				if l > 0 {
					CMPQ(k, U8(l))
					JEQ(LabelRef("done"))
				}
				add(x, l, products)
			}
		}
		for _, p := range b[p] {
			ADDQ(U32(m.Width()), p)
		}
	}
	for _, p := range a {
		ADDQ(U32(together*m.Size), p)
	}
	SUBQ(U32(together), k)
	JG(LabelRef("loop" + m.suffix))
	if format == "" {
		JMP(LabelRef("done"))
		Label("rest")
		mask := m.Mask(k, spare[0])
		for i, v := range square {
			m.LoadMasked(mask, m.at(b[0], stride, i), v)
		}
		JMP(LabelRef("square"))
		Label("done")
	}
	m.finish(rows, panels, sums, m.Mask(amd64.Argument("c.last"), m.vectors[12]))
	ADDQ(U32(panels*m.Width()), amd64.Number("c.first"))
	panel := amd64.Argument("b.panel")
	SHLQ(U8(shift+panels-1), panel)
	ADDQ(panel, amd64.Number("b.first"))
}

// transposeWords transposes eight rows of eight words in each half of the registers. It returns the
// columns, and the register that is free then.
func transposeWords(x []VecPhysical, free VecPhysical) ([]VecPhysical, VecPhysical) {
	x = slices.Clone(x)
	for _, s := range []struct {
		h         int
		low, high func(ops ...Op)
	}{{1, VPUNPCKLWD, VPUNPCKHWD}, {2, VPUNPCKLDQ, VPUNPCKHDQ}, {4, VPUNPCKLQDQ, VPUNPCKHQDQ}} {
		for i := range x {
			if i&s.h == 0 {
				s.low(x[i+s.h], x[i], free)
				s.high(x[i+s.h], x[i], x[i+s.h])
				x[i], free = free, x[i]
			}
		}
	}
	return []VecPhysical{x[0], x[4], x[2], x[6], x[1], x[5], x[3], x[7]}, free
}

// widenPairs widens the first elements of pairs of 16 bits to first, and the second in place.
func (m machine) widenPairs(pairs, first VecPhysical, format string) {
	switch {
	case format == "BFloat":
		VPSLLD(U8(16), pairs, first)
		VPSRLD(U8(16), pairs, pairs)
		VPSLLD(U8(16), pairs, pairs)
	default:
		VPMOVDW(pairs, first.AsY())
		VPSRLD(U8(16), pairs, pairs)
		VPMOVDW(pairs, pairs.AsY())
		VCVTPH2PS(first.AsY(), first)
		VCVTPH2PS(pairs.AsY(), pairs)
	}
}

func (m machine) widen(format string) {
	m.Begin("widen"+format, "(n int, dst *T, src *uint16)", fmt.Sprintf("widens %d·n elements of 16 bits.", m.Lanes()))
	n, dst, src := amd64.Argument("n"), amd64.Argument("dst"), amd64.Argument("src")
	x := m.vectors[0]
	single := []VecPhysical{X0, Y0, Z0}[m.Log-2]
	Label("loop")
	if format == "BFloat" {
		VPMOVZXWD(Mem{Base: src}, single)
		VPSLLD(U8(16), single, single)
	} else {
		VCVTPH2PS(Mem{Base: src}, single)
	}
	if m.Size == 8 {
		VCVTPS2PD(single, x)
	}
	m.Move(x, Mem{Base: dst})
	ADDQ(U32(2*m.Lanes()), src)
	ADDQ(U32(m.Width()), dst)
	amd64.Repeat("loop", n)
	amd64.End()
}

// add adds products with so many rows of B at a time, read row by row, for panels of some vectors.
func (m machine) add(depth, vectors int) {
	m.Begin(fmt.Sprintf("add%dx%d", depth, vectors), "(k, rows int, a left[T], b right[T], c *T, last, panels int)",
		fmt.Sprintf("adds A·B to c for k times %d rows of B and panels of %d columns.", depth, vectors*m.Lanes()))
	next, col, row, ahead := m.step("b.row"), m.step("a.col"), m.step("a.row"), amd64.Argument("b.ahead")
	factors, sums, x := m.vectors[:2], m.vectors[2:2+vectors], m.vectors[4:4+depth*vectors]
	var mask Op
	if vectors == 1 {
		mask = m.Mask(amd64.Argument("last"), m.vectors[15])
	}
	Label("rows")
	b, c, panels := amd64.Argument("b.first"), amd64.Argument("c"), amd64.Argument("panels")
	Label("panel")
	from := GP64()
	MOVQ(b, from)
	for l := range depth {
		for v := range vectors {
			m.load(vectors == 1, mask, Mem{Base: from, Disp: v * m.Width()}, x[l*vectors+v])
			PREFETCHT1(Mem{Base: from, Disp: v * m.Width(), Index: ahead, Scale: 1})
		}
		if l < depth-1 {
			ADDQ(next, from)
		}
	}
	ADDQ(U32(vectors*m.Width()), b)
	a, left := amd64.Argument("a.first"), amd64.Argument("rows")
	Label("row")
	for v, s := range sums {
		m.Move(Mem{Base: c, Disp: v * m.Width()}, s)
	}
	at := GP64()
	MOVQ(a, at)
	for l := range depth {
		m.Fill(Mem{Base: at}, factors[l%2])
		if l < depth-1 {
			ADDQ(col, at)
		}
		for v, s := range sums {
			m.Plus(factors[l%2], x[l*vectors+v], s)
		}
	}
	for v, s := range sums {
		m.Move(s, Mem{Base: c, Disp: v * m.Width()})
	}
	ADDQ(row, a)
	ADDQ(U32(vectors*m.Width()), c)
	amd64.Repeat("row", left)
	amd64.Repeat("panel", panels)
	for range depth {
		ADDQ(next, amd64.Number("b.first"))
		ADDQ(col, amd64.Number("a.first"))
	}
	DECQ(amd64.Number("k"))
	JNZ(LabelRef("rows"))
	amd64.End()
}
