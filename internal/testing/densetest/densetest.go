// Package densetest draws matrices for tests, compares matrices, and runs tests for both element
// types.
package densetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// Both runs a test for float32 and for float64, as subtests.
func Both(t *testing.T, single, double func(t *testing.T)) {
	t.Run("type=float32", single)
	t.Run("type=float64", double)
}

// Roundoff returns the unit roundoff of T: 2⁻²⁴ or 2⁻⁵³.
func Roundoff[T dense.Float]() float64 {
	if _, ok := any(T(0)).(float32); ok {
		return 0x1p-24
	}
	return 0x1p-53
}

// Normal returns an r×c matrix of independent normal numbers.
func Normal[T dense.Float](rng *rand.Rand, r, c int, mean, sd float64) dense.Matrix[T] {
	m := dense.New[T](r, c)
	for i := range m.Data {
		m.Data[i] = T(mean + sd*rng.NormFloat64())
	}
	return m
}

// Gapped returns an r×c matrix of standard normal numbers inside wider rows that are NaN
// elsewhere.
func Gapped[T dense.Float](seed uint64, r, c int) dense.Matrix[T] {
	rng := rand.New(exprand.NewSource(seed))
	m := Filled(r, c+3, T(math.NaN())).ColRange(1, c+1)
	for i := range r {
		for j := range c {
			m.Set(i, j, T(rng.NormFloat64()))
		}
	}
	return m
}

// Counted returns the r×c matrix whose element (i, j) is 100·i + j, with the given stride and −1
// in the gaps between rows.
func Counted[T dense.Float](r, c, stride int) dense.Matrix[T] {
	m := dense.Matrix[T]{Rows: r, Cols: c, Data: make([]T, r*stride), Stride: stride}
	for i := range m.Data {
		m.Data[i] = -1
		if j := i % stride; j < c {
			m.Data[i] = T(100*(i/stride) + j)
		}
	}
	return m
}

// Filled returns an r×c matrix whose elements are all x.
func Filled[T dense.Float](r, c int, x T) dense.Matrix[T] {
	m := dense.New[T](r, c)
	for i := range m.Data {
		m.Data[i] = x
	}
	return m
}

// Orthonormal returns an orthogonal d×d matrix of random directions.
func Orthonormal(rng *rand.Rand, d int) dense.Matrix[float64] {
	q := Normal[float64](rng, d, d, 0, 1)
	for i := range d {
		row := q.Row(i)
		// A second time takes away what rounding has left.
		for range 2 {
			for k := range i {
				floats.AddScaled(row, -floats.Dot(row, q.Row(k)), q.Row(k))
			}
			floats.Scale(1/floats.Norm(row, 2), row)
		}
	}
	return q
}

// Padded returns the rows of x, where every row one after a multiple of gap is padding unless gap is
// zero, and more rows of padding after them; and which rows are valid. Rows of padding hold zeros,
// large numbers, infinities and NaN in turn, from number salt on.
func Padded[T dense.Float](x dense.Matrix[T], gap, more, salt int) (padded dense.Matrix[T], valid []bool) {
	paddings := []float64{0, 1e30, math.Inf(1), math.NaN(), -1}
	padded, valid = dense.New[T](x.Rows+more, x.Cols), make([]bool, x.Rows+more)
	for i := range padded.Rows {
		row := padded.Row(i)
		if valid[i] = i < x.Rows && (gap == 0 || i%gap != 1); valid[i] {
			copy(row, x.Row(i))
			continue
		}
		for j := range row {
			row[j] = T(paddings[(salt+i)%len(paddings)])
		}
	}
	return padded, valid
}

// Identical reports whether a and b agree in shape and in every bit, any NaN being equal to any
// NaN.
func Identical[T dense.Float](a, b dense.Matrix[T]) bool {
	if a.Rows != b.Rows || a.Cols != b.Cols {
		return false
	}
	for i := range a.Rows {
		for j, x := range a.Row(i) {
			y := b.At(i, j)
			if x != x && y != y {
				continue
			}
			if x != y || math.Signbit(float64(x)) != math.Signbit(float64(y)) {
				return false
			}
		}
	}
	return true
}

// RequireClose stops the test unless got has the shape of want and every element is within that of
// tol of the element of want; NaN is within nothing. The format and its arguments say what got is.
func RequireClose[T dense.Float](t testing.TB, want, tol dense.Matrix[float64], got dense.Matrix[T], format string, args ...any) {
	t.Helper()
	if got.Rows != want.Rows || got.Cols != want.Cols {
		t.Fatalf("%s: is %d×%d, want %d×%d", fmt.Sprintf(format, args...), got.Rows, got.Cols, want.Rows, want.Cols)
	}
	for i := range want.Rows {
		for j := range want.Cols {
			if d := math.Abs(want.At(i, j) - float64(got.At(i, j))); !(d <= tol.At(i, j)) {
				t.Fatalf("%s: (%d, %d) is %v, want %v ± %.2g",
					fmt.Sprintf(format, args...), i, j, got.At(i, j), want.At(i, j), tol.At(i, j))
			}
		}
	}
}
