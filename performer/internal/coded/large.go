package coded

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

const (
	// Values up to Largest have finite sums in float32, for 2²⁴ keys with weights of 255.
	Largest = 0x1p96

	Smaller = 0x1p-32
)

func (c *codedHead[T]) again() {
	first, peak := c.Dst, PeakOf(c.V)
	if peak <= Largest || layout.Finite(first) {
		return
	}
	c.Dst = dense.New[T](first.Rows, first.Cols)
	c.begin(c.shrunk())
	c.run()
	Mend(first, c.Dst)
}

func (c *codedHead[T]) shrunk() tiles.Head[T] {
	a := c.Head
	a.V = a.V.Clone()
	for i := range a.V.Rows {
		vecmath.Scale(a.V.Row(i), Smaller)
	}
	return a
}

// Mend replaces the elements of outputs that are not finite by elements computed from smaller
// values. Finite elements stay, so that they do not depend on values that their query does not see.
func Mend[T dense.Float](outputs, smaller dense.Matrix[T]) {
	for i := range outputs.Rows {
		to := outputs.Row(i)
		for l, x := range smaller.Row(i) {
			switch {
			case to[l]-to[l] == 0:
			case x-x != 0:
				to[l] = x / Smaller
			default: // an average is finite, but rounding may exceed the largest number
				to[l] = Finite(x / Smaller)
			}
		}
	}
}

// Finite returns x, or the largest number of its sign if x is infinite.
func Finite[T dense.Float](x T) T {
	if x-x == 0 {
		return x
	}
	largest := math.MaxFloat64
	if T(largest)-T(largest) != 0 {
		largest = math.MaxFloat32
	}
	return T(math.Copysign(largest, float64(x)))
}

// PeakOf returns the largest size of a finite element of x.
func PeakOf[T dense.Float](x dense.Matrix[T]) T {
	var peak T
	for i := range x.Rows {
		for _, v := range x.Row(i) {
			if v-v == 0 {
				peak = max(peak, v, -v)
			}
		}
	}
	return peak
}
