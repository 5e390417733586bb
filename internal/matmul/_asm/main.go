// Command _asm writes the amd64 kernels of package matmul.
//
//	go run -tags purego . -out ../matmul_amd64.s -stubs ../stubs_amd64.go -pkg matmul
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// machine is an instruction set and an element type: vectors of 1<<log elements
// of size bytes. A tile of rows×2 of them, and what is multiplied, fit the
// registers.
type machine struct {
	name    string
	size    int
	log     int
	rows    int
	vectors []VecPhysical

	move  func(src, dst Op)
	fill  func(src, dst Op) // dst = src in every lane
	mul   func(b, a, dst Op)
	fmadd func(c, b, dst Op) // dst = b·c + dst
	zero  func(x Op)
	masks masks
}

// masks leave out the lanes beyond a number of them.
type masks interface {
	// constants writes what set reads.
	constants(m machine)
	// set makes the mask of n lanes.
	set(m machine, n Register)
	// load reads the lanes of the mask and sets the others to zero.
	load(m machine, src, dst Op)
	// store writes the lanes of the mask.
	store(m machine, src, dst Op)
}

func (m machine) width() int      { return m.size << m.log }
func (m machine) element() string { return fmt.Sprintf("float%d", 8*m.size) }

func main() {
	ConstraintExpr("!purego,!noasm")
	for _, m := range machines() {
		m.masks.constants(m)
		for rows := 1; rows <= m.rows; rows++ {
			m.strip(rows, 1)
			m.strip(rows, 2)
		}
		m.pack(1)
		m.pack(2)
		m.unpack(1)
		m.unpack(2)
		m.packTransposed()
		if m.width() == 64 {
			m.invert()
		}
	}
	prefetch()
	Generate()
}
