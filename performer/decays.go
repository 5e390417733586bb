package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// decays are what a chunk of n tokens makes of its decays g: with b_i = g_0 + … + g_i, one
// number or one for each row of S, every factor is an e^(b_i − b_j), j ≤ i. Unless some g
// is positive none exceeds 1.
//
// Sums of large numbers would leave little of small ones, and a factor is as exact as the
// difference in its exponent. So b is held in two parts, as a double-double number.
type decays[T dense.Float] struct {
	width     int       // of g, 0 without decays
	high, low []float64 // b_{−1} = 0 … b_{n−1}
	up        []T       // e^b_i
	down      []T       // e^(b_{n−1} − b_i)
	all       []T       // e^b_{n−1}
	gamma     buffer[T] // Γ_ij = e^(b_i − b_j) for j ≤ i, if width is 1
	factors   buffer[T] // of one level of pairs, if width is more
}

// least is a decay whose factor is zero, and below which no number is summed: those that
// are summed with it keep their digits.
const least = -1 << 20

func (d *decays[T]) shape(width, rows int) {
	d.width = width
	d.high, d.low = resize(d.high, (rows+1)*width), resize(d.low, (rows+1)*width)
	d.up, d.down, d.all = resize(d.up, rows*width), resize(d.down, rows*width), resize(d.all, width)
	switch {
	case width == 1:
		d.gamma.shape(rows, rows)
	case width > 1:
		d.factors.shape(rows, width)
	}
}

// fill takes the decays g of a chunk.
func (d *decays[T]) fill(g dense.Matrix[T]) {
	w := d.width
	if w == 0 {
		return
	}
	clear(d.high[:w])
	clear(d.low[:w])
	for i := range g.Rows {
		high, low := d.high[i*w:(i+2)*w], d.low[i*w:(i+2)*w]
		for c, v := range g.Row(i) {
			x := float64(v)
			if x < least {
				x = least
			}
			sum := high[c] + x
			part := sum - high[c]
			low[w+c] = low[c] + ((high[c] - (sum - part)) + (x - part))
			high[w+c] = sum
		}
	}
	n := g.Rows
	for i := range n {
		d.between(d.up[i*w:][:w], i, -1)
		d.between(d.down[i*w:][:w], n-1, i)
	}
	d.between(d.all, n-1, -1)
	vecmath.Exp(d.up[:n*w], d.up[:n*w])
	vecmath.Exp(d.down[:n*w], d.down[:n*w])
	vecmath.Exp(d.all, d.all)
	if w == 1 {
		d.fillGamma(n)
	}
}

// fillGamma makes the lower triangle of Γ.
func (d *decays[T]) fillGamma(n int) {
	gamma := d.gamma.rows(n)
	for i := range n {
		row := gamma.Row(i)[:i+1]
		high, low := d.high[i+1], d.low[i+1]
		for j := range row {
			row[j] = T((high - d.high[j+1]) + (low - d.low[j+1]))
		}
		vecmath.Exp(row, row)
	}
}

// between sets dst to b_i − b_j, for −1 ≤ j ≤ i.
func (d *decays[T]) between(dst []T, i, j int) {
	w := d.width
	high, low := d.high[(i+1)*w:][:w], d.low[(i+1)*w:][:w]
	highBefore, lowBefore := d.high[(j+1)*w:][:w], d.low[(j+1)*w:][:w]
	for c := range dst {
		dst[c] = T((high[c] - highBefore[c]) + (low[c] - lowBefore[c]))
	}
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

// weighSums multiplies the sums S by what the whole chunk leaves of them.
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

// finiteRows reports whether all numbers of x are finite.
func finiteRows[T dense.Float](x dense.Matrix[T]) bool {
	for i := range x.Rows {
		if h := vecmath.HalfSquaredNorm(x.Row(i)); math.IsNaN(h) || math.IsInf(h, 0) {
			return false
		}
	}
	return true
}
