package scan

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// tile is how a kernel goes through rows: several at a time, the last ones from the end, so that some
// come twice, and one at a time, with a stride of 0, where there are fewer in all.
type tile struct {
	stride, thrice GPVirtual // bytes from row to row, and three times that
	rows, dst      Mem       // where the tile begins
	n              Mem       // rows that are left
	count, bytes   Mem       // rows of a step, and its bytes
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

// row returns the address of row i of four.
func (t tile) row(base Register, i int) Mem {
	m := at(base, 0)
	switch i {
	case 1, 2:
		m.Index, m.Scale = t.stride, uint8(i)
	case 3:
		m.Index, m.Scale = t.thrice, 1
	}
	return m
}
