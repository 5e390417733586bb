package bytedot

import (
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
)

// Gather sets column j of c to row list[j] of a, with its scale. [QuantiseRows] has made a. Gather
// panics if the list has a number without a row, or if [QuantiseTransposed] has made a.
func (c *Columns) Gather(a *Rows, list []int32) {
	if a.transposed {
		panic("bytedot: Gather of the rows of QuantiseTransposed")
	}
	c.shape(a.k, len(list), true)
	c.Scales = resize(c.Scales, Padded(len(list)))
	clear(c.Scales[len(list):])
	row := Padded(four * groups(a.k))
	c.codes = resize(c.codes, Lanes*row+cache.Line) // kernels read behind the last row
	for lo := 0; lo < len(list); lo += Lanes {
		part := list[lo:min(lo+Lanes, len(list))]
		for j, i := range part {
			copy(c.codes[j*row:][:row], a.codes[int(i)*row:])
			c.Scales[lo+j] = a.Scales[i]
		}
		clear(c.codes[len(part)*row : Lanes*row])
		at, step := c.sixteenAt(lo)
		transpose(c.bytes[at:], step, c.codes, row, groups(a.k))
	}
}

// Weighted computes scaled sums of values with weights of [Weigh] less 128, a row for each column
// of w:
//
//	y_jc = (float32(Σ_l (w_lj − 128)·v_lc)·factors[j])·v.Scales[c].
//
// totals are the sums of weights. [QuantiseTile] has made v, which has the inner indices of w. y
// has Padded(n) columns for the n columns of v. Weighted overwrites w. Weighted panics if the
// shapes do not fit.
func Weighted(y dense.Matrix[float32], w *Columns, totals []int32, factors []float32, v *Columns) {
	if w.k != v.k || w.coded || !v.coded || y.Rows != w.n || y.Cols != Padded(v.n) {
		panic(fmt.Sprintf("bytedot: %d×%d for weights of %d×%d and values of %d×%d", y.Rows, y.Cols, w.k, w.n, v.k, v.n))
	}
	w.starts, w.peaks = resize(w.starts, Padded(w.n)), resize(w.peaks, y.Cols)
	for j, total := range totals[:w.n] {
		w.starts[j] = 0
		if v.signed() {
			w.starts[j] = offset * (offset*four*int32(groups(w.k)) - total)
		}
	}
	flip(w.bytes, w.bytes)
	codes, width := signed(w.bytes), 1
	if multipliesWords() {
		w.wide, width = resize(w.wide, 2*len(codes)), 2
		widen(w.wide, codes, len(codes)/Lanes)
		codes = w.wide
	}
	for j := 0; j < w.n; {
		rows, at := w.panelAt(j)
		for c := 0; c < v.n; {
			columns, to := v.panelAt(c)
			scores(y.Data[j*y.Stride+c:], y.Stride, w.peaks[c:], factors[j:], v.Scales[c:], w.starts[j:], codes[width*at:],
				width*four, width*rows*Lanes*four, v.bytes[to:], min(rows*Lanes, w.n-j), groups(w.k), columns)
			c += Lanes * columns
		}
		j += Lanes * rows
	}
}

// AddRows adds rows of [Weighted] to rows of dst, with the values that weights of 128 have left
// out, and multiples of the means of values:
//
//	dst[list[j]][c] += x[j][c] + sizes[j]·means[c] + factors[j]·v.Scales[c]·128·Σ_l v_lc
//
// AddRows panics if dst lacks a row of the list, or if the shapes do not fit.
func AddRows[T dense.Float](dst dense.Matrix[T], list []int32, x dense.Matrix[float32], sizes []float32, means []T, factors []float32, v *Columns) {
	if len(list) > x.Rows || dst.Cols > x.Cols || len(means) != dst.Cols || len(v.halves) < dst.Cols || min(len(sizes), len(factors)) < len(list) {
		panic(fmt.Sprintf("bytedot: %d rows of %d×%d for rows of %d", len(list), x.Rows, x.Cols, dst.Cols))
	}
	if len(list) == 0 {
		return
	}
	_, _ = dst.Row(int(slices.Min(list))), dst.Row(int(slices.Max(list)))
	columns := 0
	if single, ok := any(dst.Data).([]float32); ok && dst.Cols >= Lanes {
		columns = dst.Cols / Lanes * Lanes
		addRows(single, dst.Stride, list, x.Data, x.Stride, sizes, any(means).([]float32), factors, v.halves, len(list), columns/Lanes)
	}
	for j, i := range list {
		row := dst.Row(int(i))
		for c := columns; c < len(row); c++ {
			row[c] += T(x.At(j, c) + float32(sizes[j]*float32(means[c])) + float32(factors[j]*v.halves[c]))
		}
	}
}
