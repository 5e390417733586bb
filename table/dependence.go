package table

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

// Dependence is a point of the partial dependence of predictions f on a column: the mean
//
//	f̄(v) = 1/n·Σ_i f(row i with the value v in the column)
//
// of predictions for n rows of a table, all with one value in the column and with their own values
// in the other columns [Friedman 2001: https://doi.org/10.1214/aos/1013203451]. If columns depend
// on each other, the mean includes combinations of values that no row of a table has.
type Dependence struct {
	Value string // v, a text of the table, or empty for a missing value

	// X is v for numbers, days since 1970-01-01 for dates, the index of v in Column.Categories, or
	// the number of categories for other values, and NaN for a missing value.
	X float64

	// Mean has f̄(v), one number for a numeric target, or for classes the mean probability of each
	// class. StdErr has the standard errors of Mean for n random rows. All points of a column are
	// means over the same rows, so that differences of the points have smaller errors than StdErr.
	Mean, StdErr []float64
}

const (
	mostValues = 12  // of a column
	mostRows   = 300 // in the mean of a point
)

// dependence returns the points of the target at for c, which is column j of t and the columns of x
// from from on.
func (m *Model) dependence(c *Column, t *Table, j int, x dense.Matrix[float64], from, at int) []Dependence {
	all, x, code := c.values(t, j), x.Clone(), make([]float64, c.width())
	for k, d := range all {
		clear(code)
		_ = c.encode(code, d.Value, 0) // points has encoded the text before
		for i := range x.Rows {
			copy(x.Row(i)[from:], code)
		}
		outputs := m.outputs(x, at)
		for output := range outputs.Cols {
			mean, stdErr := meanOf(column(outputs, output))
			all[k].Mean, all[k].StdErr = append(all[k].Mean, mean), append(all[k].StdErr, stdErr)
		}
	}
	return all
}

// values returns the values of column j for points of the dependence on c.
func (c *Column) values(t *Table, j int) []Dependence {
	var all, gone []Dependence
	for _, row := range t.rows {
		d := Dependence{Value: row[j]}
		k, known := slices.BinarySearch(c.Categories, d.Value)
		switch {
		case missing(d.Value):
			gone = []Dependence{{X: math.NaN()}}
			continue
		case c.Kind == Date:
			at, _ := date(d.Value)
			d.X = days(at)
		case c.Kind == Number:
			d.X, _ = number(d.Value)
		case known:
			d.X = float64(k)
		default:
			d.X = float64(len(c.Categories))
		}
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b Dependence) int { return cmp.Compare(a.X, b.X) })
	same := func(a, b Dependence) bool { return a.X == b.X }
	values := slices.CompactFunc(slices.Clone(all), same)
	if len(values) > mostValues {
		for i := range mostValues {
			values[i] = all[(2*i+1)*len(all)/(2*mostValues)]
		}
		values = slices.CompactFunc(values[:mostValues], same)
	}
	return append(values, gone...)
}
