// Package matmul writes the amd64 kernels of package matmul.
package matmul

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// machine is a machine whose registers fit a tile of rows×2 vectors and what is multiplied.
type machine struct {
	amd64.Machine
	rows    int
	vectors []VecPhysical
	suffix  string // of labels, if a kernel has the same code twice
}

// Write writes all kernels.
func Write() {
	Package("github.com/seed-feabd252/randfeat/internal/compute/matmul")
	for _, general := range amd64.Machines {
		m := machine{Machine: general, rows: 6, vectors: general.Registers()}
		if m.Wide {
			m.rows = 8 // with 14 rows, products take the same time
		}
		m.MaskTable()
		for rows := 1; rows <= m.rows; rows++ {
			m.strip(rows, 1)
			m.strip(rows, 2)
		}
		for rows := 1; rows <= m.dotRows(); rows++ {
			m.dot(rows, "")
		}
		for _, format := range formats {
			m.widen(format)
			for rows := 1; m.Size == 4 && rows <= m.dotRows(); rows++ {
				m.dot(rows, format)
			}
		}
		for vectors := 1; vectors <= 2; vectors++ {
			m.add(1, vectors)
			m.add(4, vectors)
		}
		m.pack(1)
		m.pack(2)
		m.packTransposed()
		if m.Wide {
			m.invert()
		}
	}
	prefetch()
}

// mask may be in a register of the factors, which are done with by then.
func (m machine) mask() Op { return m.Mask(amd64.Argument("lanes"), m.vectors[12]) }

func (m machine) load(last bool, mask, src, dst Op) {
	if last {
		m.LoadMasked(mask, src, dst)
	} else {
		m.Move(src, dst)
	}
}

func (m machine) store(last bool, mask, src, dst Op) {
	if last {
		m.StoreMasked(mask, src, dst)
	} else {
		m.Move(src, dst)
	}
}
