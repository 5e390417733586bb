package bytedot

import (
	"fmt"

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

// AddTransposed adds columns of x to rows of dst, as many as the list has:
//
//	dst[list[j]][i] += x[i][j]
//
// If the list has a row of dst twice, AddTransposed adds both columns, the first one first.
// AddTransposed panics if dst lacks a row of the list, if dst.Cols ≠ x.Rows, or if x has fewer
// columns than the list.
func AddTransposed(dst dense.Matrix[float32], list []int32, x dense.Matrix[float32]) {
	if dst.Cols != x.Rows || len(list) > x.Cols {
		panic(fmt.Sprintf("bytedot: %d of %d columns with %d elements for rows of %d", len(list), x.Cols, x.Rows, dst.Cols))
	}
	rows := dst.Cols / Lanes * Lanes
	n := len(list) / Lanes * Lanes
	if rows == 0 {
		n = 0
	}
	for j := 0; j < n; j += Lanes {
		for _, i := range list[j : j+Lanes] {
			_ = dst.Row(int(i))
		}
		addTransposed(dst.Data, dst.Stride, list[j:], x.Data[j:], x.Stride, rows/Lanes)
	}
	for j, i := range list {
		row, from := dst.Row(int(i)), 0
		if j < n {
			from = rows
		}
		for l := from; l < len(row); l++ {
			row[l] += x.Data[l*x.Stride+j]
		}
	}
}
