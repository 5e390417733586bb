package logscale

import "math"

// weight is log φ_if + R_f, the logarithm of the weight of a sum for a query, as three summands.
type weight struct{ log, high, low float64 }

// over returns a − b = (a.log − b.log) + (a.high − b.high) + (a.low − b.low), rounded once.
func (a weight) over(b weight) float64 {
	// Neither a difference of quarters nor the sum of two differences overflows.
	x, dx := difference(a.log/4, b.log/4)
	y, dy := difference(b.high/4, a.high/4)
	z, dz := difference(x, y)
	if z-z != 0 {
		return z
	}
	return 4 * (z + (dz + ((dx - dy) + (a.low-b.low)/4)))
}

// difference returns x − y, rounded, and the rounding error or NaN [Knuth 1998].
func difference(x, y float64) (d, rest float64) {
	d = x - y
	taken := d - x
	return d, (x - (d - taken)) - (y + taken)
}

// scaleExtreme is ScaleQueries of one query with extreme log-features or references, and returns
// exp(M_i). The rounding error of ℓ_f + R_f may then exceed the difference of two such sums, and
// the sum may overflow.
func (r *Reference[T]) scaleExtreme(row []T) Scale {
	weightOf := func(f int) weight {
		return weight{float64(row[f]), float64(r.base[f]), float64(r.low[f])}
	}
	at, most, inf := -1, weight{}, math.Inf(1)
	for f := range row {
		w := weightOf(f)
		if math.Abs(w.log) < inf && math.Abs(w.high) < inf && (at < 0 || w.over(most) > 0) {
			at, most = f, w
		}
	}
	for f := range row {
		w := weightOf(f)
		above := w.over(most)
		if w.log < inf {
			// No weight is above the largest, but for rounding.
			above = min(above, 0)
		}
		row[f] = T(math.Exp(above))
	}
	if at < 0 {
		return Scale{Factor: 1}
	}
	return NewScale(most.log+most.high+most.low, 0)
}
