package recurrence

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// decays holds factors e^(b_i − b_j), j ≤ i, of a chunk of n tokens with decays g, where b_i = g_0
// + … + g_i is one number per token or one per row of S. Unless some g is positive no factor
// exceeds 1.
//
// The error of a factor e^(b_i − b_j) is the error of the difference in its exponent. One number
// per token is therefore summed as a double-double number. With one number per row of S, decays are
// summed within blocks of 1, 2, 4, … tokens, without subtractions. A factor is the product of
// factors of two neighbouring blocks.
type decays[T dense.Float] struct {
	width int // of g, 0 without decays
	up    []T // e^b_i, with b summed from the beginning of the block of i
	down  []T // e^(b_e − b_i), where e is the last token of the block of i
	all   []T // e^b_{n−1}

	// If width is 1: the high and low part of −b_i, and Γ_ij = e^(b_i − b_j) for j ≤ i.
	high, low, zeros []T
	gamma            scratch.Buffer[T]

	// If width is more than 1: g, and sums over blocks in the row of the first token.
	g, sums []T
}

// Decays below least count as least, so that sums keep the digits of other decays.
const least = -1 << 20

func (d *decays[T]) shape(width, rows int) {
	d.width = width
	d.up, d.down, d.all = scratch.Resize(d.up, rows*width), scratch.Resize(d.down, rows*width), scratch.Resize(d.all, width)
	switch {
	case width == 1:
		d.high, d.low, d.zeros = scratch.Resize(d.high, rows), scratch.Resize(d.low, rows), scratch.Resize(d.zeros, rows)
		clear(d.zeros)
		d.gamma.Shape(rows, rows)
	case width > 1:
		d.g, d.sums = scratch.Resize(d.g, rows*width), scratch.Resize(d.sums, rows*width)
	}
}

// fill sets the decays of a chunk. With several decays per token, every token is then a block, and
// the caller calls merge for half = 1, 2, 4, … < n.
func (d *decays[T]) fill(g dense.Matrix[T]) {
	switch w := d.width; {
	case w == 1:
		d.fillGamma(g)
	case w > 1:
		dense.Copy(dense.Of(g.Rows, w, d.g[:g.Rows*w]), g)
		d.split(g.Rows)
	}
}

func (d *decays[T]) fillGamma(g dense.Matrix[T]) {
	n, sum, rest := g.Rows, 0.0, 0.0
	high, low := d.high[:n], d.low[:n]
	for i := range high {
		x := float64(g.Row(i)[0])
		if x < least { // NaN stays
			x = least
		}
		next := sum + x
		taken := next - sum
		rest += (sum - (next - taken)) + (x - taken)
		sum = next
		high[i] = -T(sum)
		low[i] = -T((sum + float64(high[i])) + rest)
	}
	gamma := d.gamma.Rows(n)
	for i := range n {
		vecmath.ExpRelative(gamma.Row(i)[:i+1], high[:i+1], high[i], low, low[i], d.zeros, 0)
	}
	copy(d.down, gamma.Row(n-1))
	for i := range n {
		d.up[i] = -high[i] - low[i]
	}
	vecmath.Exp(d.up, d.up[:n])
	d.all[0] = d.up[n-1]
}

func (d *decays[T]) split(n int) {
	w := d.width
	copy(d.sums, d.g[:n*w])
	vecmath.Exp(d.up, d.g[:n*w])
	layout.Fill(d.down[:n*w], 1)
	copy(d.all, d.up[:w])
}

func (d *decays[T]) merge(half, n int) {
	w := d.width
	for mid := half; mid < n; mid += 2 * half {
		lo, hi := mid-half, min(mid+half, n)
		left, right := d.sums[lo*w:][:w], d.sums[mid*w:][:w]
		vecmath.Exp(d.all, right)
		for i := lo; i < mid; i++ {
			vecmath.Multiply(d.row(d.down, i), d.all)
		}
		vecmath.Exp(d.all, left)
		for i := mid; i < hi; i++ {
			vecmath.Multiply(d.row(d.up, i), d.all)
		}
		vecmath.AddScaled(left, right, 1)
	}
	vecmath.Exp(d.all, d.sums[:w])
}

func (d *decays[T]) row(factors []T, i int) []T { return factors[i*d.width:][:d.width] }

// factor returns the factor of token i at level half: e^(b_i − b_r) in a right block and e^(b_r −
// b_i) in a left block, where r is the last token of the left block.
func (d *decays[T]) factor(i, half int) []T {
	if i/half%2 == 1 {
		return d.row(d.up, i)
	}
	return d.row(d.down, i)
}

// weigh multiplies row i of x by the factors of token i: a number, or one for each column.
func (d *decays[T]) weigh(x dense.Matrix[T], factors []T) {
	for i := range x.Rows {
		switch d.width {
		case 0:
		case 1:
			vecmath.Scale(x.Row(i), factors[i])
		default:
			vecmath.Multiply(x.Row(i), d.row(factors, i))
		}
	}
}

// weighState multiplies the rows of S by the decays of all tokens of the chunk.
func (d *decays[T]) weighState(s dense.Matrix[T]) {
	for f := range s.Rows {
		if d.width > 0 {
			vecmath.Scale(s.Row(f), d.all[f%d.width])
		}
	}
}
