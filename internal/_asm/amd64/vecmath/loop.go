package vecmath

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// block is a place in a slice: k adjacent vectors, or the elements of one under a
// mask.
type block struct {
	machine
	k    int
	at   Register // in bytes
	mask Op       // nil for all elements
}

func (b block) address(base Register, i int) Mem {
	return Mem{Base: base, Index: b.at, Scale: 1, Disp: i * b.Width()}
}

// load returns the vectors of a slice, with 0 where the mask is not set.
func (b block) load(base Register) []Op {
	v := b.Vecs(b.k)
	for i := range v {
		if from := b.address(base, i); b.mask == nil {
			b.Move(from, v[i])
		} else {
			b.LoadMasked(b.mask, from, v[i])
		}
	}
	return v
}

// loadOr is load with another vector where the mask is not set.
func (b block) loadOr(base Register, other Op) []Op {
	v := b.load(base)
	if b.mask != nil {
		filled := b.Vec()
		b.Move(other, filled)
		b.choose(b.mask, v[0], filled)
		v[0] = filled
	}
	return v
}

func (b block) store(v []Op, base Register) {
	for i := range v {
		if to := b.address(base, i); b.mask == nil {
			b.Move(v[i], to)
		} else {
			b.StoreMasked(b.mask, v[i], to)
		}
	}
}

// unroll returns how many vectors go in step, as many as the registers allow.
func (m machine) unroll(single, double int) int {
	if m.Wide {
		return of(m, single, double)
	}
	return 2
}

// loop writes body three times: for blocks of k vectors, for single vectors and for the elements
// that are left. Together they go through n elements. loop returns the place in bytes; a jump out
// of body leaves the place as it is.
func (m machine) loop(label string, n Register, k int, body func(b block)) (at Register) {
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
		body(block{machine: m, k: k, at: at})
		ADDQ(U32(k*m.Width()), at)
		SUBQ(U32(k<<m.Log), left)
		JGE(LabelRef(start))
		Label(end)
		ADDQ(U32(k<<m.Log), left)
	}
	TESTQ(left, left)
	JZ(LabelRef(label + "Done"))
	body(block{machine: m, k: 1, at: at, mask: m.firstLanes(left)})
	Label(label + "Done")
	return at
}

// firstLanes returns a mask of the first left elements of a vector.
func (m machine) firstLanes(left Register) Op {
	if !m.Wide {
		return m.edgeAt(left, m.Vec())
	}
	table, k := GP64(), K()
	LEAQ(masks(), table)
	KMOVW(Mem{Base: table, Index: left, Scale: 2}, k)
	return k
}

// edgeAt returns v with ones in the first left elements and zeros behind.
func (m machine) edgeAt(left Register, v Op) Op {
	table, bytes := GP64(), GP64()
	LEAQ(edge(), table)
	MOVQ(left, bytes)
	SHLQ(U8(m.Shift()), bytes)
	SUBQ(bytes, table)
	m.Move(Mem{Base: table}, v)
	return v
}

// masks returns the address of words whose i-th has the lowest i bits set.
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
