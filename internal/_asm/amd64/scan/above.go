package scan

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// above compares a group of scores at a time. Few groups have a score to list.
func above(m amd64.Machine) {
	const atLeast = 0x1d // greater than or equal, ordered, quiet
	TEXT("above"+m.Name, NOSPLIT, "func(list *int32, x *float32, least float32, groups int) int")
	Doc("above" + m.Name + " lists the scores of whole groups from least on, as the reference does.")
	Pragma("noescape")
	first, x, left := amd64.Argument("list"), amd64.Argument("x"), amd64.Argument("groups")
	least, list, row := m.Broadcast(amd64.Number("least")), GP64(), GP64()
	MOVQ(first, list)
	XORQ(row, row)
	Label("group")
	bits, part := GP64(), GP64()
	XORQ(bits, bits)
	for i := range groupRows / m.Lanes() {
		v := m.Vec()
		m.Move(at(x, i*m.Width()), v)
		if m.Wide {
			VCMPPS(U8(atLeast), least, v, K1)
			KMOVW(K1, part.As32())
		} else {
			VCMPPS(U8(atLeast), least, v, v)
			VMOVMSKPS(v, part.As32())
		}
		SHLQ(U8(i*m.Lanes()), part)
		ORQ(part, bits)
	}
	TESTQ(bits, bits)
	JZ(LabelRef("next"))
	Label("score")
	place := GP64()
	TZCNTQ(bits, place)
	ADDQ(row, place)
	MOVL(place.As32(), Mem{Base: list})
	ADDQ(U32(4), list)
	BLSRQ(bits, bits)
	JNZ(LabelRef("score"))
	Label("next")
	ADDQ(U32(groupRows), row)
	ADDQ(U32(4*groupRows), x)
	amd64.Repeat("group", left)
	SUBQ(first, list)
	SHRQ(U8(2), list)
	Store(list, ReturnIndex(0))
	amd64.End()
}
