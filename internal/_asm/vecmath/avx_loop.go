package vecmath

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// avxBlock is a block of k vectors, or of the elements of one vector under a mask.
type avxBlock struct {
	avx
	k    int
	at   Register // in bytes
	mask Op       // nil for all elements
}

func (b avxBlock) address(p Register, i int) Mem {
	return Mem{Base: p, Index: b.at, Scale: 1, Disp: i * b.Width()}
}

// load returns vectors with 0 where the mask is not set.
func (b avxBlock) load(p Register) []Op {
	v := b.Vecs(b.k)
	for i := range v {
		if from := b.address(p, i); b.mask == nil {
			b.Move(from, v[i])
		} else {
			b.LoadMasked(b.mask, from, v[i])
		}
	}
	return v
}

func (b avxBlock) loadOr(p Register, other Op) []Op {
	v := b.load(p)
	if b.mask != nil {
		filled := b.Move(other)
		b.choose(b.mask, v[0], filled)
		v[0] = filled
	}
	return v
}

func (b avxBlock) store(v []Op, p Register) {
	for i := range v {
		if to := b.address(p, i); b.mask == nil {
			b.Move(v[i], to)
		} else {
			b.StoreMasked(b.mask, v[i], to)
		}
	}
}

func (b avxBlock) row(p Register) Register { return b.CopyOf(p) }

func (m avx) hasShorter() bool { return m.Wide }

func (m avx) unroll(k int) int {
	if m.Wide {
		return k
	}
	return 2
}

// loop returns the place in bytes. A jump out of body leaves the place as it is.
func (m avx) loop(label string, n Register, k int, body func(b position[Op, Register])) (place Register) {
	at, left := GP64(), GP64()
	XORQ(at, at)
	MOVQ(n, left)
	rounds := []int{k, 1}
	if k == 1 {
		rounds = rounds[1:]
	}
	for i, k := range rounds {
		start, end := fmt.Sprintf("%s%d", label, i), fmt.Sprintf("%s%dEnd", label, i)
		SUBQ(U32(k<<m.Log), left)
		JLT(LabelRef(end))
		Label(start)
		body(avxBlock{avx: m, k: k, at: at})
		ADDQ(U32(k*m.Width()), at)
		SUBQ(U32(k<<m.Log), left)
		JGE(LabelRef(start))
		Label(end)
		ADDQ(U32(k<<m.Log), left)
	}
	TESTQ(left, left)
	JZ(LabelRef(label + "Done"))
	body(avxBlock{avx: m, k: 1, at: at, mask: m.firstLanes(left)})
	Label(label + "Done")
	return at
}

func (m avx) again(p Register) Register { return p }

func (m avx) weighted(_ position[Op, Register], x Register, rows *walk[Register], _ []Register, body func(row Register, weight func(slice Register) Op)) {
	start := rows.label()
	row, i := m.CopyOf(x), GP64()
	XORQ(i, i)
	Label(start)
	body(row, func(slice Register) Op { return m.Broadcast(Mem{Base: slice, Index: i, Scale: uint8(m.Size)}) })
	ADDQ(rows.stride, row)
	INCQ(i)
	CMPQ(i, rows.rows)
	JLT(LabelRef(start))
}

// firstLanes returns a mask of the first left elements of a vector.
func (m avx) firstLanes(left Register) Op {
	if !m.Wide {
		return m.edgeAt(left, m.Vec())
	}
	table, k := GP64(), K()
	LEAQ(masks(), table)
	KMOVW(Mem{Base: table, Index: left, Scale: 2}, k)
	return k
}

// edgeAt returns v with ones in the first left elements and zeros behind.
func (m avx) edgeAt(left Register, v Op) Op {
	table, bytes := GP64(), GP64()
	LEAQ(edge(), table)
	MOVQ(left, bytes)
	SHLQ(U8(m.Shift()), bytes)
	SUBQ(bytes, table)
	return m.Move(Mem{Base: table}, v)
}

// masks returns the address of 16-bit words whose i-th has the lowest i bits set.
func masks() Mem {
	return once("masks", func() Mem {
		GLOBL("masks", RODATA|NOPTR)
		for i := range 17 {
			DATA(2*i, U16(1<<i-1))
		}
		return amd64.Static("masks")
	})
}

// edge returns an address behind 32 bytes of ones and before 32 of zeros.
func edge() Mem {
	return once("edge", func() Mem {
		GLOBL("edge", RODATA|NOPTR)
		for i := range 8 {
			DATA(8*i, U64(^uint64(0)*uint64(1-i/4)))
		}
		return amd64.Static("edge")
	}).Offset(32)
}
