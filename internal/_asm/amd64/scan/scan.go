// Package scan writes the amd64 kernels of package scan.
package scan

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/_asm/zeros"
)

// ahead is the distance in bytes at which kernels prefetch codes. Processors prefetch by
// themselves, but only to the end of a page, and kernels would wait for the first lines of the next
// page.
const ahead = 4096

// Write writes all kernels.
func Write() {
	for _, width := range []int{1, 2, 4, 8} {
		productsWide(width)
		if width <= 2 {
			bitsNarrow(width)
		} else {
			productsNarrow(width)
		}
	}
	for _, width := range []int{8, 4, 2, 1} {
		for _, together := range []bool{true, false} {
			if together || width > 1 { // package scan lists rows of 1 bit
				listedWide(width, together)
				listedNarrow(width, together)
			}
		}
	}
	for _, i := range []int{0, 2} {
		m := avx{amd64.Vectors{Machine: amd64.Machines[i]}}
		m.Name = m.Name[3:]
		zeros.WriteScore[Op, Register](m)
		zeros.WriteWiden[Op, Register](m)
		m.weigh()
		signs(m.Machine)
		above(m.Machine)
	}
	for _, width := range []int{8, 4} {
		sumsWide(width)
		sumsNarrow(width)
	}
}

// avx is a machine of package zeros.
type avx struct{ amd64.Vectors }

func (m avx) Pattern(bits uint64) Op { return number(m.Vec(), uint32(bits)) }

func (m avx) BroadcastNext(p Register) Op {
	v := m.Broadcast(at(p, 0))
	m.Advance(p, 4)
	return v
}

func (m avx) Prefetch(p Register) { PREFETCHT0(at(p, ahead)) }

// begin starts a function. The signature has no element type.
func begin(name, signature, doc string) {
	TEXT(name, NOSPLIT, "func"+signature)
	Doc(name + " " + doc)
	Pragma("noescape")
}

func at(base Register, bytes int) Mem { return Mem{Base: base, Disp: bytes} }
