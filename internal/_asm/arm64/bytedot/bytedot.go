// Package bytedot writes the arm64 kernels of package bytedot.
package bytedot

import "github.com/seed-feabd252/randfeat/internal/_asm/arm64"

// What package bytedot says of its layout: columns come sixteen at a time, in panels of four times
// as many or of sixteen, and inner indices in groups of four bytes.
const (
	lanes      = 16
	vectors    = lanes * 4 / arm64.Width
	groupBytes = 4
	codes      = arm64.Width // of a vector
)

// machine is a machine with the kernels as methods.
type machine struct{ arm64.Machine }

// Write writes all kernels.
func Write(f *arm64.File) {
	m := machine{arm64.Machines(f)[0]}
	m.Name = "NEON"
	for _, sixteens := range []int{1, 4} {
		for _, e := range []epilogue{m.mul(), m.scores(), m.add()} {
			m.product(e, sixteens)
		}
	}
	m.raise()
	m.weigh()
	m.spanRows()
	m.encodeRows()
	m.spanColumns()
	m.encodeColumns()
	m.transpose()
}

// sixteen returns the vectors of sixteen elements.
func (m machine) sixteen(p arm64.GP) []arm64.Vec {
	v := m.Vecs(vectors)
	m.LoadTo(v, p, 0)
	return v
}

// repeated returns a vector of bytes of which each is b.
func (m machine) repeated(b uint8) arm64.Vec {
	return m.Constant(0x0101010101010101*uint64(b), 0x0101010101010101*uint64(b))
}

// words returns a vector of integers of 16 bits of which each is v.
func (m machine) words(v int16) arm64.Vec {
	return m.Constant(0x0001000100010001*uint64(uint16(v)), 0x0001000100010001*uint64(uint16(v)))
}

// interleave returns the order of bytes that puts those at the same place of four quarters together.
func (m machine) interleave() arm64.Vec { return m.Constant(0x0d0905010c080400, 0x0f0b07030e0a0602) }

// largest sets dst to the larger of unsigned integers.
func (m machine) largest(dst, v arm64.Vec) { m.I("VUMAX V%r.S4, V%r.S4, V%m.S4", v, dst, dst) }
