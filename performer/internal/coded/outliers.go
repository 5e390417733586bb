package coded

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// Outlying is the ratio of the size of a row to the mean size of the other rows from which on the
// row is an outlier. Rows share the mean of keys and the scales of values: with an outlier, codes
// say little of other rows. Of 256 rows up to 32 may be outliers.
const Outlying = 8

// outlyingValues reports whether a row of x, count rows of values less their mean and rows of
// zeros, is an outlier. The size of a row is that of its largest element in units of the mean size
// of its column. So a column that is large in all rows or zero in most makes no outlier.
func outlyingValues[T dense.Float](scales []float32, x dense.Matrix[T], count int) bool {
	const together = 16 // rows that stay in the first cache
	e := pool.Get[encoding[T]](&encodings)
	defer pool.Put(&encodings, e)
	e.values.Shape(together, x.Cols)
	e.ones, e.minus = scratch.Resize(e.ones, together), scratch.Resize(e.minus, x.Cols)
	layout.Fill(e.ones, 1)
	sizes := e.minus // of columns, times count
	clear(sizes)
	for lo := 0; lo < x.Rows; lo += together {
		n := min(together, x.Rows-lo)
		above := dense.Copy(e.values.Rows(n), x.RowRange(lo, lo+n))
		vecmath.Max0(above.Data, 1)
		vecmath.SumRows(above.Data, above.Stride, e.ones[:n], sizes)
	}
	large := false
	for l, size := range sizes {
		sizes[l] = 2 * size // because elements of a column sum to zero
		large = large || most*T(scales[l])*T(count+Outlying-1) > Outlying*sizes[l]
	}
	if !large {
		return false // the mean size of rows is at least 1
	}
	var largest, sum T
	for j := range x.Rows {
		var peak T
		for l, v := range x.Row(j) {
			if v != 0 {
				peak = max(peak, max(v, -v)/sizes[l])
			}
		}
		largest, sum = max(largest, peak), sum+peak
	}
	return largest*T(count+Outlying-1) > Outlying*sum
}
