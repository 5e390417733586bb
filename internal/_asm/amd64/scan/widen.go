package scan

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// widen writes the chunks of rows, a vector or four words at a time.
func (m avx) widen(width int) {
	begin(fmt.Sprintf("widen%d%s", width, m.Name), "(dst, rows *uint64, n, words int)", "turns rows into rows of so many words, as the reference does.")
	dst, rows, n, stride := amd64.Argument("dst"), amd64.Argument("rows"), amd64.Argument("n"), amd64.Argument("words")
	halves, left, to := GP64(), GP64(), GP64()
	LEAQ(at(stride, 3), halves)
	SHRQ(U8(2), halves)
	SHLQ(U8(3), stride)
	// part returns a function for words of a chunk of c words, from the first on.
	part := func(c, first int, vec func() VecVirtual) func() {
		size := max(1, c*(width-4)/8)
		lower, upper := number(vec(), 0x0f0f0f0f), number(vec(), 0x10101010*uint32(2*width-9))
		table := func(name string, shift func(i int) int) Op {
			name = fmt.Sprintf("%s%dOf%dAt%d%s", name, width, c, first, m.Name)
			GLOBL(name, RODATA|NOPTR)
			for i := range int(lower.Size() / 8) {
				DATA(8*i, U64(min(uint64(shift(first+i)), 64))) // a shift by 64 bits leaves nothing
			}
			if !m.Wide {
				return amd64.Static(name)
			}
			v := vec()
			VMOVDQU64(amd64.Static(name), v)
			return v
		}
		turn := func(i int) int { return (width-4)*(i/size) - 4 }
		down := table("down", func(i int) int { return 4 * (i / (c / 2)) })
		if m.Wide {
			turns := table("turn", func(i int) int { return turn(i) & 63 })
			return func() {
				a, b := m.spread(4*c, 0, rows, vec()), m.spread(8*size, 4*c, rows, vec())
				VPSRLVQ(down, a, a)
				VPRORVQ(turns, b, b)
				VPANDQ(upper, b, b)
				VPTERNLOGQ(U8(0xea), b, lower, a) // (a ∧ lower) ∨ b
				VMOVDQU64(a, at(to, 8*first))
			}
		}
		left, right := table("left", func(i int) int { return -turn(i) }), table("right", turn)
		return func() {
			a, b, other := m.spread(4*c, 0, rows, vec()), m.spread(8*size, 4*c, rows, vec()), vec()
			VPSRLVQ(down, a, a)
			VPSLLVQ(left, b, other)
			VPSRLVQ(right, b, b)
			VPOR(other, b, b)
			VPAND(upper, b, b)
			VPAND(lower, a, a)
			VPOR(b, a, a)
			VMOVDQU(a, at(to, 8*first))
		}
	}
	var whole []func()
	for first := 0; first < 8; first += m.Width() / 8 {
		whole = append(whole, part(8, first, m.Machine.Vec))
	}
	half := part(4, 0, YMM)
	// Rows of whole chunks are one long row.
	MOVQ(halves, left)
	SHLQ(U8(5), left)
	CMPQ(left, stride)
	JNE(LabelRef("row"))
	TESTQ(U32(1), halves)
	JNZ(LabelRef("row"))
	IMULQ(n, halves)
	MOVQ(U32(1), n)
	Label("row")
	MOVQ(dst, to)
	MOVQ(halves, left)
	SHRQ(U8(1), left)
	JZ(LabelRef("half"))
	Label("whole")
	for _, write := range whole {
		write()
	}
	ADDQ(U8(64), to)
	ADDQ(U8(8*width), rows)
	PREFETCHT0(at(rows, ahead))
	amd64.Repeat("whole", left)
	Label("half")
	TESTQ(U32(1), halves)
	JZ(LabelRef("next"))
	half()
	ADDQ(U8(24), rows)
	Label("next")
	ADDQ(stride, dst)
	amd64.Repeat("row", n)
	amd64.End()
}

// spread fills v with 8, 16 or 32 bytes again and again.
func (m avx) spread(bytes, offset int, p Register, v VecVirtual) VecVirtual {
	load := func(ops ...Op) { VMOVDQU(ops[0], ops[1]) }
	switch {
	case bytes == 8:
		load = VPBROADCASTQ
	case bytes == 16 && m.Wide:
		load = VBROADCASTI32X4
	case bytes == 16:
		load = func(ops ...Op) { VBROADCASTI128(ops[0], ops[1]) }
	case m.Wide:
		load = VBROADCASTI64X4
	}
	load(at(p, offset), v)
	return v
}
