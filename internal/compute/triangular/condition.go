package triangular

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// most is the largest condition number of a triangle that is inverted. Triangles of the delta rule
// with unit keys and strengths up to 2 have smaller condition numbers: elements of T and T⁻¹ are at
// most 2, and the condition number is at most Σ_l 2·(2l+1) = 512.
const most = 1024

type original[T dense.Float] [Block * Block]T

// invert replaces the triangle t with the diagonal diag (nil for ones) by its inverse, and reports
// whether the inverse is as accurate as substitution.
func (o *original[T]) invert(t dense.Matrix[T], diag []T) bool {
	for i := range t.Rows {
		row := o[i*Block:][:Block]
		copy(row[:i], t.Data[i*t.Stride:])
		row[i] = 1
		if diag != nil {
			row[i] = diag[i]
		}
	}
	matmul.InvertTriangle(t, diag)
	return t.Rows == 1 || o.condition(t) <= most
}

// restore restores the elements below the diagonal. The diagonal keeps its reciprocals.
func (o *original[T]) restore(t dense.Matrix[T]) {
	for i := range t.Rows {
		copy(t.Data[i*t.Stride:][:i], o[i*Block:])
	}
}

// condition returns the larger of ‖|T⁻¹||T|‖ and ‖|T||T⁻¹|‖ in the infinity norm and the 1-norm,
// for the triangle T and its inverse X. These are the condition numbers of systems with T and Tᵀ
// that do not depend on the scale of the equations [Skeel 1979]. The result is NaN or infinite if T
// or X is not finite.
func (o *original[T]) condition(x dense.Matrix[T]) T {
	var rows, columns, left [Block]T
	n := x.Rows
	for i := range n {
		row := o[i*Block:][:i+1]
		down, sum := columns[:len(row)], T(0)
		for j, v := range row {
			v = T(math.Abs(float64(v)))
			sum += v
			down[j] += v
		}
		rows[i] = sum
	}
	var worst T
	for i := range n {
		row, c, sum := x.Data[i*x.Stride:][:i+1], columns[i], T(0)
		across, down := rows[:len(row)], left[:len(row)]
		for j, v := range row {
			v = T(math.Abs(float64(v)))
			sum += v * across[j]
			down[j] += c * v
		}
		worst = max(worst, sum)
	}
	for _, v := range left[:n] {
		worst = max(worst, v)
	}
	return worst
}

// substitute replaces W by T⁻¹·W for a triangle with the reciprocals 1/λ_i on its diagonal.
func substitute[T dense.Float](t, w dense.Matrix[T]) {
	for i := range t.Rows {
		row := w.Row(i)
		for l, v := range t.Row(i)[:i] {
			vecmath.AddScaled(row, w.Row(l), -v)
		}
		vecmath.Scale(row, t.At(i, i))
	}
}

// substituteTransposed replaces W by T⁻ᵀ·W as substitute does, from the last row to the first.
func substituteTransposed[T dense.Float](t, w dense.Matrix[T]) {
	for i := t.Rows - 1; i >= 0; i-- {
		row := w.Row(i)
		for l := i + 1; l < t.Rows; l++ {
			vecmath.AddScaled(row, w.Row(l), -t.At(l, i))
		}
		vecmath.Scale(row, t.At(i, i))
	}
}
