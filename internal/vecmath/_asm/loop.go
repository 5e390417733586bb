package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// begin starts a function. In its signature T stands for the element type.
func (m machine) begin(name, signature, doc string) {
	TEXT(name+m.name, NOSPLIT, "func"+strings.ReplaceAll(signature, "T", m.element()))
	Doc(name + m.name + " " + doc)
	Pragma("noescape")
}

// pointer returns a register with the argument of that name, a pointer or a count.
func pointer(name string) Register { return Load(Param(name), GP64()) }

// block is a place in a slice: k adjacent vectors, or the elements of one under a
// mask.
type block struct {
	machine
	k    int
	at   Register // in bytes
	mask Op       // nil if the block is whole
}

func (b block) address(base Register, i int) Mem {
	return Mem{Base: base, Index: b.at, Scale: 1, Disp: i * b.width()}
}

// load returns the vectors of a slice, with 0 where the mask is not set.
func (b block) load(base Register) []Op {
	v := b.vecs(b.k)
	for i := range v {
		switch from := b.address(base, i); {
		case b.mask == nil:
			b.move(from, v[i])
		case b.wide:
			of(b.machine, VMOVUPS_Z, VMOVUPD_Z)(from, b.mask, v[i])
		default:
			of(b.machine, VMASKMOVPS, VMASKMOVPD)(from, b.mask, v[i])
		}
	}
	return v
}

// loadOr is load with another vector where the mask is not set.
func (b block) loadOr(base Register, other Op) []Op {
	v := b.load(base)
	if b.mask != nil {
		filled := b.vec()
		b.move(other, filled)
		b.choose(b.mask, v[0], filled)
		v[0] = filled
	}
	return v
}

func (b block) store(v []Op, base Register) {
	for i := range v {
		switch to := b.address(base, i); {
		case b.mask == nil:
			b.move(v[i], to)
		case b.wide:
			b.move(v[i], b.mask, to)
		default:
			of(b.machine, VMASKMOVPS, VMASKMOVPD)(v[i], b.mask, to)
		}
	}
}

// unroll returns how many vectors go in step, as many as the registers allow.
func (m machine) unroll(single, double int) int {
	if m.wide {
		return of(m, single, double)
	}
	return 2
}

// loop writes body for blocks of k vectors, then for whole vectors and then for
// the elements that are left, and goes through n elements with them. It returns
// the place, in bytes, which is also where a jump from body leaves it.
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
		SUBQ(U32(k<<m.log), left)
		JLT(LabelRef(end))
		Label(start)
		body(block{machine: m, k: k, at: at})
		ADDQ(U32(k*m.width()), at)
		SUBQ(U32(k<<m.log), left)
		JGE(LabelRef(start))
		Label(end)
		ADDQ(U32(k<<m.log), left)
	}
	TESTQ(left, left)
	JZ(LabelRef(label + "Done"))
	body(block{machine: m, k: 1, at: at, mask: m.firstLanes(left)})
	Label(label + "Done")
	return at
}

// firstLanes returns a mask of the first left elements of a vector.
func (m machine) firstLanes(left Register) Op {
	if !m.wide {
		return m.edgeAt(left, m.vec())
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
	SHLQ(U8(m.shift()), bytes)
	SUBQ(bytes, table)
	m.move(Mem{Base: table}, v)
	return v
}

// masks returns the address of words whose i-th has the lowest i bits set.
func masks() Mem {
	if at, ok := written["masks"]; ok {
		return at
	}
	GLOBL("masks", RODATA|NOPTR)
	for i := range 17 {
		DATA(2*i, U16(1<<i-1))
	}
	written["masks"] = NewDataAddr(Symbol{Name: "masks", Static: true}, 0)
	return written["masks"]
}

// edge returns an address behind 32 bytes of ones and before 32 of zeros.
func edge() Mem {
	at, ok := written["edge"]
	if !ok {
		GLOBL("edge", RODATA|NOPTR)
		for i := range 8 {
			DATA(8*i, U64(^uint64(0)*uint64(1-i/4)))
		}
		at = NewDataAddr(Symbol{Name: "edge", Static: true}, 0)
		written["edge"] = at
	}
	return at.Offset(32)
}

func done() {
	VZEROUPPER()
	RET()
}
