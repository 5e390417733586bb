package matmul

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// strip is the micro-kernel. All sums of a panel stay in registers.
func (m machine) strip(rows, vectors int) {
	m.Begin(fmt.Sprintf("strip%dx%d", rows, vectors), "(k int, a left[T], b right[T], c target[T], alpha, beta T, panels int)",
		fmt.Sprintf("computes C = α·A·B + β·C for %d rows and panels of %d columns.", rows, vectors*m.Lanes()))
	Label("panel")
	k, b, next := amd64.Argument("k"), amd64.Argument("b.first"), m.step("b.row")
	row, col := m.step("a.row"), m.step("a.col")
	a := m.rowsOf(amd64.Argument("a.first"), row, rows)

	// The last registers are for factors: two by turns for A, the others for B.
	sums, factors := m.vectors[:rows*vectors], m.vectors[len(m.vectors)-4:]
	for _, s := range sums {
		m.Clear(s)
	}
	m.expect(rows, vectors)
	// A single vector may be the last of a row of B that is read in place.
	var mask Op
	if vectors == 1 {
		mask = m.Mask(amd64.Argument("c.last"), m.vectors[rows])
	}
	TESTQ(k, k)
	JZ(LabelRef("done"))
	Label("loop")
	for v := range vectors {
		m.load(vectors == 1, mask, Mem{Base: b, Disp: v * m.Width()}, factors[2+v])
	}
	ADDQ(next, b)
	for i := range rows {
		m.Fill(m.at(a, row, i), factors[i%2])
		for v := range vectors {
			m.Plus(factors[i%2], factors[2+v], sums[i*vectors+v])
		}
	}
	for _, base := range a {
		ADDQ(col, base)
	}
	amd64.Repeat("loop", k)
	Label("done")
	if mask == nil {
		mask = m.Mask(amd64.Argument("c.last"), m.vectors[12])
	}
	m.finish(rows, vectors, sums, mask)
	ADDQ(U32(vectors*m.Width()), amd64.Number("c.first"))
	ADDQ(m.step("b.panel"), amd64.Number("b.first"))
	DECQ(amd64.Number("panels"))
	JNZ(LabelRef("panel"))
	amd64.End()
}

// expect asks for the tile of C, which is needed in the end.
func (m machine) expect(rows, vectors int) {
	const line = 64
	c, stride := amd64.Argument("c.first"), m.step("c.stride")
	for i := range rows {
		for at := 0; at < vectors*m.Width(); at += line {
			PREFETCHT0(Mem{Base: c, Disp: at})
		}
		if i < rows-1 {
			ADDQ(stride, c)
		}
	}
}

// step returns a distance in bytes, which the argument has in elements.
func (m machine) step(name string) GPVirtual {
	n := amd64.Argument(name)
	SHLQ(U8(m.Shift()), n)
	return n
}

// rowsOf returns a pointer to every third row of a.
func (m machine) rowsOf(a GPVirtual, row Register, rows int) []Register {
	pointers := []Register{a}
	for i := 3; i < rows; i += 3 {
		next := GP64()
		LEAQ(Mem{Base: pointers[len(pointers)-1], Index: row, Scale: 2}, next)
		ADDQ(row, next)
		pointers = append(pointers, next)
	}
	return pointers
}

// at is row i, as rowsOf has made the pointers.
func (m machine) at(pointers []Register, row Register, i int) Mem {
	address := Mem{Base: pointers[i/3]}
	if i%3 > 0 {
		address.Index, address.Scale = row, uint8(i%3)
	}
	return address
}

// finish writes the sums, times α, plus β·C. C is not read when β = 0.
func (m machine) finish(rows, vectors int, sums []VecPhysical, mask Op) {
	scratch := m.vectors[len(m.vectors)-4:]
	alpha, beta, old := scratch[1], scratch[2], scratch[3]
	c, stride := amd64.Argument("c.first"), m.step("c.stride")
	m.Fill(amd64.Number("alpha"), alpha)
	for _, s := range sums {
		m.Mul(alpha, s, s)
	}
	bits := GP64()
	if m.Size == 4 {
		MOVL(amd64.Number("beta"), bits.As32())
		SHLL(U8(1), bits.As32()) // −0 is zero too
	} else {
		MOVQ(amd64.Number("beta"), bits)
		SHLQ(U8(1), bits)
	}
	JZ(LabelRef("store" + m.suffix))
	m.Fill(amd64.Number("beta"), beta)
	from := GP64()
	MOVQ(c, from)
	for i := range rows {
		for v := range vectors {
			address := Mem{Base: from, Disp: v * m.Width()}
			m.load(v == vectors-1, mask, address, old)
			m.Plus(old, beta, sums[i*vectors+v])
		}
		ADDQ(stride, from)
	}
	Label("store" + m.suffix)
	if m.Wide {
		m.storeAll(rows, vectors, c, stride, sums, mask)
		return
	}
	// AMD processors take many cycles for each masked store.
	CMPQ(amd64.Number("c.last"), U32(m.Lanes()))
	JNE(LabelRef("part" + m.suffix))
	m.storeAll(rows, vectors, c, stride, sums, nil)
	JMP(LabelRef("stored" + m.suffix))
	Label("part" + m.suffix)
	m.storeAll(rows, vectors, c, stride, sums, mask)
	Label("stored" + m.suffix)
}

// storeAll writes the sums of all rows to c. A mask other than nil has the elements of the last
// vector of a row.
func (m machine) storeAll(rows, vectors int, c, stride Register, sums []VecPhysical, mask Op) {
	for i := range rows {
		for v := range vectors {
			address := Mem{Base: c, Disp: v * m.Width()}
			m.store(mask != nil && v == vectors-1, mask, sums[i*vectors+v], address)
		}
		if i < rows-1 {
			ADDQ(stride, c)
		}
	}
}
