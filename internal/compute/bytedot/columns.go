package bytedot

import (
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// offset is the difference between a code of a column and the signed number that it stands for.
const offset = 128

// CodedColumns is a right operand B of k inner indices and n columns: unsigned bytes, which are
// weights of [Weigh], or codes of [QuantiseColumns] plus 128 with a scale for each column. The zero
// value is ready for either function. Goroutines may share a filled operand. Columns lie in panels
// of 64, and the remaining columns in panels of 16. A panel is a sequence of groups of four inner
// indices, and a group a sequence of columns. Bytes beyond k stand for 0.
type CodedColumns struct {
	// Scales holds the factor of the codes of each column: NaN for a column that is not finite.
	// Weights have no scales.
	Scales []float32

	n, k     int
	coded    bool
	dithered bool
	bytes    []uint8
	codes    []int8 // scratch memory for the codes of 16 columns
}

func (c *CodedColumns) Dims() (k, n int) { return c.k, c.n }

func (c *CodedColumns) shape(k, n int, coded bool) {
	checkInner(k)
	c.k, c.n, c.coded, c.dithered = k, n, coded, false
	c.bytes = cache.Aligned(c.bytes, Padded(n)*four*groups(k))
}

// signed reports whether the sums of products need corrections. Kernels for NEON take bytes less
// 128, and all other kernels take bytes.
func (c *CodedColumns) signed() bool { return c.coded != (tier == simd.NEON) }

const panel = 4

// panelAt returns the number of columns, in Lanes, of the panel that begins at a column, and the
// index of its first byte.
func (c *CodedColumns) panelAt(column int) (sixteens, at int) {
	at = column * four * groups(c.k)
	if Padded(c.n)-column >= panel*Lanes {
		return panel, at
	}
	return 1, at
}

// sixteenAt returns the index of the first byte of Lanes columns, from a column on, and the number
// of bytes from a group of these columns to the next.
func (c *CodedColumns) sixteenAt(column int) (at, step int) {
	wide := Padded(c.n) / (panel * Lanes) * (panel * Lanes)
	if column >= wide {
		return column * four * groups(c.k), Lanes * four
	}
	in := column % (panel * Lanes)
	return (column-in)*four*groups(c.k) + in*four, panel * Lanes * four
}
