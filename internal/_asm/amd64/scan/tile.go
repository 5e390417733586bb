package scan

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// tile is a loop over rows, several at a time. The last step ends at the last row, and computes
// some rows twice. If there are too few rows for a step, the loop takes one row at a time, with a
// stride of 0.
type tile struct {
	stride, thrice GPVirtual // bytes of a row, and three times that
	rows, dst      Mem       // addresses of the first row of the step and of its result
	n              Mem       // remaining rows
	count, bytes   Mem       // rows and bytes of a step
	length         Mem       // bytes of a row
}

func newTile(height int) tile {
	t := tile{stride: GP64(), thrice: GP64()}
	for _, place := range []*Mem{&t.rows, &t.dst, &t.n, &t.count, &t.bytes, &t.length} {
		*place = AllocLocal(8)
	}
	n, v := amd64.Argument("n"), GP64()
	MOVQ(n, t.n)
	MOVQ(amd64.Argument("rows"), v)
	MOVQ(v, t.rows)
	MOVQ(amd64.Argument("dst"), v)
	MOVQ(v, t.dst)
	MOVQ(amd64.Argument("words"), t.stride)
	SHLQ(U8(3), t.stride)
	MOVQ(t.stride, t.length)
	MOVQ(U32(height), v)
	MOVQ(v, t.count)
	IMUL3Q(U32(height), t.stride, v)
	MOVQ(v, t.bytes)
	CMPQ(n, U32(height))
	JGE(LabelRef("several"))
	MOVQ(t.stride, t.bytes)
	MOVQ(U32(1), v)
	MOVQ(v, t.count)
	XORQ(t.stride, t.stride)
	Label("several")
	LEAQ(Mem{Base: t.stride, Index: t.stride, Scale: 2}, t.thrice)
	return t
}

// loop writes body for all rows, and ends the function.
func (t tile) loop(body func()) {
	Label("tile")
	body()
	v, back := GP64(), GP64()
	MOVQ(t.count, back)
	SUBQ(back, t.n)
	JZ(LabelRef("done"))
	MOVQ(t.bytes, v)
	ADDQ(v, t.rows)
	MOVQ(back, v)
	SHLQ(U8(2), v)
	ADDQ(v, t.dst)
	SUBQ(t.n, back)
	JLE(LabelRef("tile"))
	ADDQ(back, t.n)
	MOVQ(back, v)
	SHLQ(U8(2), v)
	SUBQ(v, t.dst)
	IMULQ(t.length, back)
	SUBQ(back, t.rows)
	JMP(LabelRef("tile"))
	Label("done")
	amd64.End()
}

func (t tile) row(base Register, i int) Mem {
	return amd64.Row(i, base, t.stride, t.thrice)
}

// narrow writes the loops of a kernel without AVX-512 over queries and strips of four rows, and
// ends the function. Function strip adds the products of 16 bytes of the rows at from, or of the
// last 8 bytes. total returns the product of each row and the query whose constants are at query.
func (t tile) narrow(digits int, clear func(), strip func(query, from Register, last bool), total func(query Register) VecVirtual) {
	left, bytes := AllocLocal(8), queryBytes(digits)
	t.loop(func() {
		query, to, from := amd64.Argument("digits"), GP64(), GP64()
		MOVQ(amd64.Argument("queries"), to)
		MOVQ(to, left)
		MOVQ(t.dst, to)
		Label("query")
		clear()
		MOVQ(t.rows, from)
		strips := amd64.Argument("words")
		SHRQ(U8(1), strips)
		JZ(LabelRef("last"))
		Label("strip")
		strip(query, from, false)
		PREFETCHT0(at(from, ahead))
		ADDQ(U8(stripBytes), from)
		ADDQ(U32(digits*stripBytes), query)
		amd64.Repeat("strip", strips)
		Label("last")
		words := amd64.Argument("words")
		TESTQ(U32(1), words)
		JZ(LabelRef("sum"))
		strip(query, from, true)
		Label("sum")
		start := GP64()
		MOVQ(amd64.Argument("words"), start)
		SHRQ(U8(1), start)
		IMUL3Q(U32(digits*stripBytes), start, start)
		SUBQ(start, query)
		v := total(query)
		CMPQ(t.count, U8(1))
		JE(LabelRef("one"))
		VMOVUPS(v, at(to, 0))
		JMP(LabelRef("stored"))
		Label("one")
		VMOVSS(v, at(to, 0))
		Label("stored")
		ADDQ(bytes, query)
		stride := amd64.Argument("stride")
		LEAQ(Mem{Base: to, Index: stride, Scale: 4}, to)
		DECQ(left)
		JNZ(LabelRef("query"))
	})
}

// horner returns Σ (2·v[i] − constants)·256^(n−1−i), from integers of 32 bits. subtract subtracts
// the constant at a number of bytes of the query. Each product and sum rounds once.
func horner(v []VecVirtual, constants [][]int, power VecVirtual, subtract func(constant int, v VecVirtual)) VecVirtual {
	for i, sum := range v {
		VPADDD(sum, sum, sum)
		for _, c := range constants[i] {
			subtract(c, sum)
		}
		VCVTDQ2PS(sum, sum)
		if i > 0 {
			VFMADD231PS(v[i-1], power, sum)
		}
	}
	return v[len(v)-1]
}

// subtractAt returns the function of horner for the constants of the query.
func subtractAt(query Register) func(constant int, v VecVirtual) {
	return func(constant int, v VecVirtual) {
		c := XMM()
		VPBROADCASTD(at(query, constant), c)
		VPSUBD(c, v, v)
	}
}

// unpacked returns the vectors that two steps of interleaving four rows give.
func unpacked(rows []VecVirtual, vec func() VecVirtual, steps [2][2]func(ops ...Op)) []VecVirtual {
	pair := func(step int, a, b VecVirtual) (low, high VecVirtual) {
		low, high = vec(), vec()
		steps[step][0](b, a, low)
		steps[step][1](b, a, high)
		return low, high
	}
	columns := make([]VecVirtual, 4)
	a, b := pair(0, rows[0], rows[1])
	c, d := pair(0, rows[2], rows[3])
	columns[0], columns[1] = pair(1, a, c)
	columns[2], columns[3] = pair(1, b, d)
	return columns
}
