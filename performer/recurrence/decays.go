package recurrence

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// decays are what a chunk of n tokens makes of its decays g: with b_i = g_0 + … + g_i, one
// number or one for each row of S, every factor is an e^(b_i − b_j), j ≤ i. Unless some g
// is positive none exceeds 1.
//
// Sums of large numbers would leave little of small ones, and a factor is as exact as the
// difference in its exponent. So a b that is one number is held as a double-double
// number. Where there is one for each row of S, decays are summed inside blocks of 1, 2, 4, …
// tokens, which nothing is ever subtracted from, and factors of two such blocks make one.
type decays[T dense.Float] struct {
	width int // of g, 0 without decays
	up    []T // e^b_i, or from the beginning of the block of i
	down  []T // e^(b_{n−1} − b_i), or to the end of the block of i
	all   []T // e^b_{n−1}

	// If width is 1: b_i with its sign changed, and Γ_ij = e^(b_i − b_j) for j ≤ i.
	high, low, zeros []T
	gamma            scratch.Buffer[T]

	// If width is more: g, then its sums over blocks, each in the row of the first token.
	g, sums []T
}

// least is a decay whose factor is zero, and below which no number is summed: those that
// are summed with it keep their digits.
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

// fill takes the decays g of a chunk. If there are many for a token, up and down are those of
// blocks of one token after it, and merge has to be called for half = 1, 2, 4, … < n.
func (d *decays[T]) fill(g dense.Matrix[T]) {
	switch w := d.width; {
	case w == 1:
		d.fillGamma(g)
	case w > 1:
		dense.Copy(dense.Of(g.Rows, w, d.g[:g.Rows*w]), g)
		d.split(g.Rows)
	}
}

// fillGamma sums the decays of a chunk, one a token, and makes the lower triangle of Γ.
func (d *decays[T]) fillGamma(g dense.Matrix[T]) {
	n, sum, rest := g.Rows, 0.0, 0.0
	high, low := d.high[:n], d.low[:n]
	for i := range high {
		x := float64(g.Row(i)[0])
		if x < least {
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

// split makes each of n tokens a block.
func (d *decays[T]) split(n int) {
	w := d.width
	copy(d.sums, d.g[:n*w])
	vecmath.Exp(d.up, d.g[:n*w])
	for i := range n * w {
		d.down[i] = 1
	}
	copy(d.all, d.up[:w])
}

// merge makes blocks of 2·half tokens of those of half.
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

// row returns the factors of token i.
func (d *decays[T]) row(factors []T, i int) []T { return factors[i*d.width:][:d.width] }

// factor returns what token i is multiplied by where blocks of half tokens meet in pairs: e^(b_i −
// b_r) in the right one, where r is the last of the left one, and e^(b_r − b_i) in that.
func (d *decays[T]) factor(i, half int) []T {
	if i/half%2 == 1 {
		return d.row(d.up, i)
	}
	return d.row(d.down, i)
}

// weigh multiplies row i of x by factor i of up or down: a number, or one for each column.
func (d *decays[T]) weigh(x dense.Matrix[T], factors []T) {
	switch d.width {
	case 0:
	case 1:
		for i := range x.Rows {
			vecmath.Scale(x.Row(i), factors[i])
		}
	default:
		for i := range x.Rows {
			vecmath.Multiply(x.Row(i), factors[i*d.width:][:d.width])
		}
	}
}

// weighSums multiplies the sums S by the decays of all tokens of the chunk.
func (d *decays[T]) weighSums(s dense.Matrix[T]) {
	for f := range s.Rows {
		switch d.width {
		case 0:
		case 1:
			vecmath.Scale(s.Row(f), d.all[0])
		default:
			vecmath.Scale(s.Row(f), d.all[f])
		}
	}
}
