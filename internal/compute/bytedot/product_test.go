package bytedot

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
)

// numbers are the integers of an operand, row by row: rows × inner for A and inner × columns for B.
type numbers struct {
	rows, cols int
	data       []int32
}

func (x numbers) at(i, j int) int32 { return x.data[i*x.cols+j] }

// drawn returns integers from low to high.
func drawn(r *rand.Rand, rows, cols int, low, high int32) numbers {
	x := numbers{rows, cols, make([]int32, rows*cols)}
	for i := range x.data {
		x.data[i] = low + r.Int32N(high-low+1)
	}
	return x
}

// rowsOf returns the left operand of some codes.
func rowsOf(x numbers, transposed bool) *CodedRows {
	var r CodedRows
	r.shape(x.rows, x.cols, transposed)
	clear(r.codes)
	for i := range x.rows {
		for l := range x.cols {
			at := i*Padded(four*groups(x.cols)) + l
			if transposed {
				at = i/Lanes*Lanes*four*groups(x.cols) + l/four*four*Lanes + i%Lanes*four + l%four
			}
			r.codes[at] = int8(x.at(i, l))
			r.corrections[i] += x.at(i, l)
		}
	}
	r.finish()
	return &r
}

// columnsOf returns the right operand that stands for some numbers.
func columnsOf(x numbers, coded bool) *CodedColumns {
	var c CodedColumns
	c.shape(x.rows, x.cols, coded)
	zero := int32(0)
	if coded {
		zero = offset
	}
	for i := range c.bytes {
		c.bytes[i] = uint8(zero)
	}
	for j := range x.cols {
		at, step := c.sixteenAt(j / Lanes * Lanes)
		for l := range x.rows {
			c.bytes[at+l/four*step+j%Lanes*four+l%four] = uint8(x.at(l, j) + zero)
		}
	}
	return &c
}

// product returns the exact product of the first rows of a and b.
func product(a, b numbers, rows int) numbers {
	c := numbers{rows, b.cols, make([]int32, rows*b.cols)}
	for i := range rows {
		for j := range b.cols {
			for l := range b.rows {
				c.data[i*b.cols+j] += a.at(i, l) * b.at(l, j)
			}
		}
	}
	return c
}

// shapes are numbers of rows, inner indices and columns around those that kernels take at a time.
func shapes(visit func(rows, inner, cols int)) {
	for _, rows := range []int{0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 21, 33} {
		for _, inner := range []int{0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 64, 67} {
			cols := []int{1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 80, 127, 128, 129}
			visit(rows, inner, cols[(5*rows+7*inner)%len(cols)])
			visit(rows, inner, cols[(rows+inner)%len(cols)])
		}
	}
	for cols := 0; cols <= 4*panel*Lanes+1; cols++ {
		visit(5+cols%5, 5+cols%7, cols)
	}
}

// guard is what lies around a destination.
const guard = 24

// guarded returns n elements between others, and a function that requires that those others and the
// elements from cols to stride of each row have not changed.
func guarded[T int32 | float32 | float64](n, cols, stride int) (x []T, check func(t *testing.T)) {
	all := make([]T, n+2*guard)
	for i := range all {
		all[i] = -7777
	}
	return all[guard:][:n], func(t *testing.T) {
		t.Helper()
		for i, v := range all {
			if at := i - guard; at < 0 || at >= n || at%stride >= cols {
				require.EqualValues(t, -7777, v, "element %d of %d", at, n)
			}
		}
	}
}

// unscaled returns the scores of the first rows of a and of b with scales of 1, in rows of stride
// elements, and requires that Scores writes nothing else.
func unscaled(t *testing.T, rows, stride int, a *CodedRows, b *CodedColumns) dense.Matrix[float32] {
	t.Helper()
	data, check := guarded[float32](rows*stride, Padded(b.n), stride)
	y, ones := dense.Matrix[float32]{Rows: rows, Cols: Padded(b.n), Data: data, Stride: stride}, make([]float32, Padded(b.n))
	for _, scales := range [][]float32{a.Scales, ones} {
		for i := range scales {
			scales[i] = 1
		}
	}
	Scores(y, make([]float32, Padded(b.n)), a, b, ones)
	check(t)
	return y
}

// Sums of the largest products, at the largest number of inner indices.
func TestLargestProducts(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		for _, inner := range []int{4096, MostInner} {
			rows, cols := 5, panel*Lanes+3
			if inner == MostInner {
				rows, cols = 1, 3
			}
			for _, x := range []int32{-128, -127, 127} {
				a := rowsOf(filled(rows, inner, x), inner == 4096)
				for _, y := range []int32{-128, -127, 127, 255} {
					got := unscaled(t, rows, Padded(cols), a, columnsOf(filled(inner, cols, y), y < 255))
					for i := range rows {
						for j := range cols {
							require.Equal(t, float32(int64(x)*int64(y)*int64(inner)), got.At(i, j), "%d·%d, %d times", x, y, inner)
						}
					}
				}
			}
		}
	})
	assert.Less(t, 255*128*int64(MostInner), int64(1)<<31)
	assert.Panics(t, func() { new(CodedRows).shape(1, MostInner+1, false) })
	assert.Panics(t, func() { new(CodedColumns).shape(MostInner+1, 1, false) })
}

func filled(rows, cols int, v int32) numbers {
	return drawn(rand.New(rand.NewPCG(1, 1)), rows, cols, v, v)
}

// special are factors of all kinds.
var special = []float32{0, float32(math.Copysign(0, -1)), 1, -1.5, 1e-38, 3e-45, 3e38, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}

// factors returns numbers, some of them special.
func factors(r *rand.Rand, n int, mixed bool) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Exp(r.NormFloat64()))
		if mixed && r.IntN(4) == 0 {
			x[i] = special[r.IntN(len(special))]
		}
	}
	return x
}

// equalBits requires the same bits, but for those of NaN and of zeros where signs are left open.
func equalBits(t *testing.T, want, got []float32, signs bool, text string, args ...any) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		switch g := got[i]; {
		case w != w && g != g, !signs && w == 0 && g == 0:
		case math.Float32bits(w) != math.Float32bits(g):
			require.Equal(t, w, g, append([]any{"element %d: " + text, i}, args...)...)
		}
	}
}

// Scores are exact products whatever the shape and the layout is, also of the first inner indices,
// which are scaled and rounded step by step. Peaks are the largest that are numbers.
func TestScores(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(2, 1))
		shapes(func(rows, inner, cols int) {
			x, y, coded := drawn(r, rows, inner, -128, 127), drawn(r, inner, cols, -128, 127), r.IntN(2) == 0
			if !coded {
				x, y = drawn(r, rows+r.IntN(3), inner+r.IntN(9), -128, 127), drawn(r, inner, cols, 0, 255)
			}
			a, b := rowsOf(x, r.IntN(2) == 0), columnsOf(y, coded)
			mixed, padded := r.IntN(2) == 0, Padded(cols)
			copy(a.Scales, factors(r, rows, mixed))
			scales := factors(r, padded, mixed)
			stride := max(1, padded+r.IntN(3))
			data, check := guarded[float32](rows*stride, padded, stride)
			peaks, checkPeaks := guarded[float32](padded, padded, max(1, padded))
			for j := range peaks {
				peaks[j] = special[r.IntN(len(special)-1)]
			}
			want := append([]float32(nil), peaks...)
			got := dense.Matrix[float32]{Rows: rows, Cols: padded, Data: data, Stride: stride}
			Scores(got, peaks, a, b, scales)
			check(t)
			checkPeaks(t)
			sums := product(x, y, rows)
			for i := range rows {
				row := make([]float32, padded)
				for j := range row {
					sum := float32(0)
					if j < cols {
						sum = float32(sums.at(i, j))
					}
					row[j] = float32(sum*a.Scales[i]) * scales[j]
					if row[j] > want[j] {
						want[j] = row[j]
					}
				}
				equalBits(t, row, got.Row(i), true, "row %d of %d×%d×%d", i, rows, inner, cols)
			}
			equalBits(t, want, peaks, false, "peaks of %d×%d×%d", rows, inner, cols)

			again, checkAgain := guarded[float32](padded, padded, max(1, padded))
			for j := range again {
				again[j] = float32(math.Inf(-1))
			}
			want = append(want[:0], again...)
			Peaks(again, got)
			checkAgain(t)
			for i := range rows {
				for j, v := range got.Row(i) {
					if v > want[j] {
						want[j] = v
					}
				}
			}
			equalBits(t, want, again, false, "peaks of %d×%d", rows, cols)
		})
	})
}

// Sums are scaled and products added step by step.
func TestAdd(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 1))
		shapes(func(rows, inner, cols int) {
			x, y := drawn(r, rows, inner, -127, 127), drawn(r, inner, cols, 0, 255)
			a, b := rowsOf(x, r.IntN(2) == 0), columnsOf(y, false)
			mixed, padded := r.IntN(2) == 0, Padded(cols)
			copy(a.Scales, factors(r, rows, mixed))
			olds, news := factors(r, padded, mixed), factors(r, padded, mixed)
			stride := max(1, padded+r.IntN(3))
			data, check := guarded[float32](rows*stride, padded, stride)
			sums := dense.Matrix[float32]{Rows: rows, Cols: padded, Data: data, Stride: stride}
			want, products := make([][]float32, rows), product(x, y, rows)
			for i := range rows {
				copy(sums.Row(i), factors(r, padded, mixed))
				want[i] = make([]float32, padded)
				for j := range want[i] {
					product := float32(0)
					if j < cols {
						product = float32(products.at(i, j))
					}
					want[i][j] = float32(sums.At(i, j)*olds[j]) + float32(product*float32(a.Scales[i]*news[j]))
				}
			}
			Add(sums, olds, news, a, b)
			check(t)
			for i := range rows {
				equalBits(t, want[i], sums.Row(i), true, "row %d of %d×%d×%d", i, rows, inner, cols)
			}
		})
	})
}

func TestProductsPanic(t *testing.T) {
	a, b := rowsOf(filled(3, 8, 1), false), columnsOf(filled(8, 20, 1), true)
	row, y := make([]float32, 32), dense.New[float32](3, 32)
	scores := func(y dense.Matrix[float32], b *CodedColumns) func() { return func() { Scores(y, row, a, b, row) } }
	short, overlapping := y, y
	short.Data, overlapping.Stride = short.Data[:95], 31
	assert.NotPanics(t, scores(y, b))
	assert.Panics(t, scores(short, b), "dst is short")
	assert.Panics(t, scores(overlapping, b), "rows overlap")
	assert.Panics(t, scores(dense.New[float32](4, 32), b), "more rows than A has")
	assert.Panics(t, scores(y, columnsOf(filled(9, 20, 1), false)), "more inner indices than A has")
	assert.NotPanics(t, scores(y, columnsOf(filled(7, 20, 1), false)), "fewer")
	assert.Panics(t, scores(y, columnsOf(filled(7, 20, 1), true)), "fewer, where codes have an offset")
	assert.Panics(t, func() { Scores(dense.New[float32](3, 20), row, a, b, row) }, "columns are not padded")
	assert.Panics(t, func() { Scores(y, row[:31:31], a, b, row) }, "peaks are short")
	assert.Panics(t, func() { Scores(y, row, a, b, row[:31]) }, "scales are short")
	assert.Panics(t, func() { Add(y, row[:31], row, a, b) }, "olds are short")
	assert.Panics(t, func() { Add(y, row, row[:31], a, b) }, "news are short")
}
