package automl

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
)

// curves moves each column by a function that is linear between knots and constant outside of them.
// Curves without knots move nothing.
type curves struct {
	Knots, Values dense.Matrix[float64] // a row for each column
}

const mostKnots = 64

// curve makes the curves of the columns of x.
type curve func(x dense.Matrix[float64]) curves

// shaped returns the curves that one makes of the sorted values of each column. one overwrites
// knots that rise, and sets their values. Columns of up to two values stay.
func shaped(one func(sorted, knots, values []float64)) curve {
	return func(x dense.Matrix[float64]) curves {
		c := curves{dense.New[float64](x.Cols, mostKnots), dense.New[float64](x.Cols, mostKnots)}
		for j := range x.Cols {
			sorted := dense.Copy(dense.Matrix[float64]{}, x.ColRange(j, j+1)).Data
			slices.Sort(sorted)
			knots, values := c.Knots.Row(j), c.Values.Row(j)
			if len(slices.Compact(slices.Clone(sorted))) > 2 {
				one(sorted, knots, values)
				continue
			}
			for i := range knots {
				knots[i] = sorted[0] + (sorted[len(sorted)-1]-sorted[0])*float64(i)/(mostKnots-1)
			}
			copy(values, knots)
		}
		return c
	}
}

// ranks moves values to the normal scores of their ranks.
var ranks = shaped(func(sorted, knots, values []float64) {
	n := float64(len(sorted))
	for i := range knots {
		knots[i] = sorted[i*(len(sorted)-1)/(mostKnots-1)]
		low, _ := slices.BinarySearch(sorted, knots[i])
		high, _ := slices.BinarySearch(sorted, math.Nextafter(knots[i], math.Inf(1)))
		values[i] = distuv.UnitNormal.Quantile(float64(low+high) / 2 / n)
	}
})

// squashed moves v = (x − median)/deviation to v/√(1 + (v/3)²), where the quartiles of a normal
// column of the deviation are those of the column.
var squashed = shaped(func(sorted, knots, values []float64) {
	n := len(sorted)
	middle, unit := sorted[n/2], (sorted[3*n/4]-sorted[n/4])/1.349
	if unit == 0 {
		unit = (sorted[n-1] - sorted[0]) / 6
	}
	for i := range knots {
		s, c := math.Sincos(1.55 * (2*float64(i)/(mostKnots-1) - 1))
		knots[i], values[i] = middle+unit*3*s/c, 3*s
	}
})

// moved returns x with the curves.
func moved[T dense.Float](c curves, x dense.Matrix[T]) dense.Matrix[T] {
	if c.Knots.Rows == 0 {
		return x
	}
	y := dense.New[T](x.Rows, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			y.Row(i)[j] = T(along(c.Knots.Row(j), c.Values.Row(j), float64(v)))
		}
	}
	return y
}

func along(knots, values []float64, v float64) float64 {
	at, _ := slices.BinarySearch(knots, v)
	switch {
	case v != v:
		return v
	case at == 0:
		return values[0]
	case at == len(knots):
		return values[at-1]
	}
	share := (v - knots[at-1]) / (knots[at] - knots[at-1])
	return values[at-1] + share*(values[at]-values[at-1])
}
