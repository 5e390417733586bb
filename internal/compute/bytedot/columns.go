package bytedot

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// offset is what codes of columns are more than the signed numbers that they stand for.
const offset = 128

// Columns is a right operand B of k inner indices and n columns: unsigned bytes. They are weights
// as [Weigh] writes them, or codes of [QuantiseColumns], which stand for the byte less 128, with a
// scale for each column. The zero value is ready for either. After that it may be shared by
// goroutines.
//
// Columns lie in panels of 64, and those that are left in panels of 16; in a panel there is one
// group of four inner indices after the other, and in a group one column after the other. Bytes
// beyond k are 0 or stand for 0, and so are columns beyond n up to Padded(n).
type Columns struct {
	// Scales holds for each column, up to Padded(n), what codes are multiplied by: NaN for a column
	// that has elements that are not finite. Weights have none.
	Scales []float32

	n, k  int
	coded bool
	bytes []uint8
	codes []int8 // of 16 columns while they are made
}

// Dims returns the numbers of inner indices and of columns.
func (c *Columns) Dims() (k, n int) { return c.k, c.n }

// shape makes room for k inner indices and n columns.
func (c *Columns) shape(k, n int, coded bool) {
	checkInner(k)
	c.k, c.n, c.coded = k, n, coded
	c.bytes = aligned(c.bytes, Padded(n)*four*groups(k))
}

// signed tells whether the sums of products need corrections: the kernels for NEON take bytes less
// 128, all others bytes.
func (c *Columns) signed() bool { return c.coded != (tier == simd.NEON) }

// panel is the number of columns of a wide panel, in Lanes.
const panel = 4

// panelAt returns the number of columns of the panel that begins at a column, in Lanes, and where
// in the bytes it begins.
func (c *Columns) panelAt(column int) (sixteens, at int) {
	at = column * four * groups(c.k)
	if Padded(c.n)-column >= panel*Lanes {
		return panel, at
	}
	return 1, at
}

// sixteenAt returns where in the bytes the first group of the Lanes columns from a column on is,
// and how many bytes later the next group is.
func (c *Columns) sixteenAt(column int) (at, step int) {
	wide := Padded(c.n) / (panel * Lanes) * (panel * Lanes)
	if column >= wide {
		return column * four * groups(c.k), Lanes * four
	}
	in := column % (panel * Lanes)
	return (column-in)*four*groups(c.k) + in*four, panel * Lanes * four
}

// line is the size of a cache line, at which bytes begin.
const line = 64

// aligned returns n bytes that begin at a cache line, in the memory of x if x is large enough; x is
// nil or a result of aligned.
func aligned(x []uint8, n int) []uint8 {
	if cap(x) >= n {
		return x[:n]
	}
	x = make([]uint8, n+line)
	skip := -uintptr(unsafe.Pointer(&x[0])) % line
	return x[skip:][:n]
}
