package bytedot

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// The codes of a row or a column x are round(127·x/max|x|), half to even, and the scale is
// max|x|/127 as float32. If x is zero, codes and scale are 0. Elements of float64 are first rounded
// to float32. If an element is then not finite, all codes are 0 and the scale is NaN. 127/max|x| is
// rounded, and at most 2¹²⁷: codes of numbers below 2⁻¹²⁰ are less than 127, and their scale is
// Least.

// Least is the smallest scale that is not 0. Codes with this scale may have fewer digits, or be 0.
const Least = 0x1p-127

// QuantiseRows sets r to the codes of the rows of x (n×k), and reports whether x is finite.
// Products with dithered columns need products, which are those of the rows and u of [Dither].
// products may be nil otherwise.
func QuantiseRows[T dense.Float](r *CodedRows, x dense.Matrix[T], products []T) (finite bool) {
	r.shape(x.Rows, x.Cols, false)
	finite = true
	row := Padded(four * groups(x.Cols))
	var memory rowCopies
	for lo := 0; lo < x.Rows; lo += rowsAtOnce {
		hi := min(lo+rowsAtOnce, x.Rows)
		if !quantiseRows(r.codes[lo*row:hi*row], r.Scales[lo:hi], r.corrections[lo:hi], x.RowRange(lo, hi), nil, &memory) {
			finite = false
		}
	}
	r.finish()
	if products != nil {
		dither(r, products)
	}
	return finite
}

// QuantiseColumns sets column j of c to the codes of row j of x (n×k), and reports whether x is
// finite. If u is not nil, it is that of [Dither]: the codes are dithered, and x is overwritten.
func QuantiseColumns[T dense.Float](c *CodedColumns, x dense.Matrix[T], u []T) (finite bool) {
	c.shape(x.Cols, x.Rows, true)
	c.dithered = u != nil
	c.Scales = resize(c.Scales, Padded(x.Rows))
	clear(c.Scales)
	finite = true
	row := Padded(four * groups(x.Cols))
	c.codes = resize(c.codes, Lanes*row+cache.Line) // kernels read behind the last row
	var memory rowCopies
	var sums [Lanes]int32
	for lo := 0; lo < x.Rows; lo += Lanes {
		hi := min(lo+Lanes, x.Rows)
		n := hi - lo
		if !quantiseRows(c.codes[:n*row], c.Scales[lo:hi], sums[:n], x.RowRange(lo, hi), u, &memory) {
			finite = false
		}
		clear(c.codes[n*row : Lanes*row])
		at, step := c.sixteenAt(lo)
		transpose(c.bytes[at:], step, c.codes, row, groups(x.Cols))
	}
	return finite
}

// QuantiseTransposed is QuantiseRows for the columns of x (k×n).
func QuantiseTransposed[T dense.Float](r *CodedRows, x dense.Matrix[T]) (finite bool) {
	r.shape(x.Cols, x.Rows, true)
	finite = true
	size := Lanes * four * groups(x.Rows)
	var memory rowCopies
	for lo := 0; lo < x.Cols; lo += Lanes {
		hi := min(lo+Lanes, x.Cols)
		if !quantiseColumns(r.codes[lo/Lanes*size:][:size], r.Scales[lo:hi], r.corrections[lo:], x.ColRange(lo, hi), &memory) {
			finite = false
		}
	}
	r.finish()
	return finite
}

// rowCopies is memory for copies of float64, or of fewer columns than kernels take.
type rowCopies [64 * Lanes]float32

const rowsAtOnce = Lanes

func quantiseRows[T dense.Float](codes []int8, scales []float32, sums []int32, x dense.Matrix[T], u []T, memory *rowCopies) (finite bool) {
	var spans [rowsAtOnce]uint32
	var factors [rowsAtOnce]float32
	row := len(codes) / x.Rows
	if x.Cols == 0 {
		clear(codes)
	}
	for at := 0; at < x.Cols; {
		part, stride, columns := across(memory, x, at)
		spanRows(spans[:], part, stride, x.Rows, columns/Lanes)
		at += columns
	}
	levels := float32(most)
	if u != nil {
		levels -= 0.5
	}
	finite = scale(factors[:], scales, spans[:], levels)
	if u != nil {
		for i, s := range scales {
			vecmath.AddScaled(x.Row(i), u, T(s))
		}
	}
	for at := 0; at < x.Cols; {
		part, stride, columns := across(memory, x, at)
		encodeRows(codes[at:], row, sums, part, stride, factors[:], x.Rows, columns/Lanes)
		at += columns
	}
	if !finite {
		for i, s := range scales {
			if s != s {
				clear(codes[i*row:][:row])
				sums[i] = 0
			}
		}
	}
	return finite
}

// across returns columns of x from column at on, and zeros for columns behind x. Their number is a
// multiple of Lanes.
func across[T dense.Float](memory *rowCopies, x dense.Matrix[T], at int) (part []float32, stride, columns int) {
	single, ok := any(x.Data).([]float32)
	if whole := (x.Cols - at) / Lanes * Lanes; ok && whole > 0 {
		return single[at:], x.Stride, whole
	}
	const most = len(memory) / rowsAtOnce
	n := min(most, x.Cols-at)
	columns = Padded(n)
	for i := range x.Rows {
		convert(memory[i*most:][:columns], x.Row(i)[at:at+n])
	}
	return memory[:], most, columns
}

func quantiseColumns[T dense.Float](codes []int8, scales []float32, sums []int32, x dense.Matrix[T], memory *rowCopies) (finite bool) {
	var spans [Lanes]uint32
	var factors [Lanes]float32
	if x.Rows == 0 {
		clear(codes)
	}
	for at := 0; at < x.Rows; {
		part, stride, rows := down(memory, x, at)
		spanColumns(spans[:], part, stride, rows)
		at += rows
	}
	finite = scale(factors[:], scales, spans[:], most)
	for at := 0; at < x.Rows; {
		part, stride, rows := down(memory, x, at)
		encodeColumns(codes[at*Lanes:], sums, part, stride, factors[:], rows/four)
		at += rows
	}
	if !finite {
		for j, s := range scales {
			if s != s {
				for at := four * j; at < len(codes); at += four * Lanes {
					clear(codes[at:][:four])
				}
				sums[j] = 0
			}
		}
	}
	return finite
}

// down returns Lanes columns of rows of x from row at on, and zeros for rows behind x. The number
// of rows is a multiple of four.
func down[T dense.Float](memory *rowCopies, x dense.Matrix[T], at int) (part []float32, stride, rows int) {
	single, ok := any(x.Data).([]float32)
	if whole := (x.Rows - at) / four * four; ok && x.Cols == Lanes && whole > 0 {
		return single[at*x.Stride:], x.Stride, whole
	}
	const most = len(memory) / Lanes
	n := min(most, x.Rows-at)
	rows = four * groups(n)
	for i := range n {
		convert(memory[i*Lanes:][:Lanes], x.Row(at+i))
	}
	clear(memory[n*Lanes : rows*Lanes])
	return memory[:], Lanes, rows
}

func convert[T dense.Float](dst []float32, x []T) {
	for i, v := range x {
		dst[i] = float32(v)
	}
	clear(dst[len(x):])
}

const most = 127

// scale sets factors and scales that take spans, the bits of the largest |x|, to so many levels.
func scale(factors, scales []float32, spans []uint32, levels float32) (finite bool) {
	const largest = 1 / Least
	finite = true
	for i := range scales {
		switch span := math.Float32frombits(spans[i]); {
		case span-span != 0:
			factors[i], scales[i], finite = 0, float32(math.NaN()), false
		case span == 0:
			factors[i], scales[i] = 0, 0
		case levels/span > largest:
			factors[i], scales[i] = largest, Least
		default:
			factors[i], scales[i] = levels/span, span/levels
		}
	}
	return finite
}
