package densetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
)

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

// Distance returns the root mean square of the elements of a − b.
func Distance[T dense.Float](a, b dense.Matrix[T]) float64 {
	sum := 0.0
	for i := range a.Rows {
		for j, x := range a.Row(i) {
			sum += math.Pow(float64(x)-float64(b.At(i, j)), 2)
		}
	}
	return math.Sqrt(sum / float64(a.Rows*a.Cols))
}

// RelativeErrors returns ‖got_i − want_i‖/‖want_i‖ for each row i.
func RelativeErrors[T dense.Float](got, want dense.Matrix[T]) []float64 {
	e := make([]float64, got.Rows)
	for i := range e {
		var difference, size float64
		for j, x := range want.Row(i) {
			difference += math.Pow(float64(got.At(i, j))-float64(x), 2)
			size += float64(x) * float64(x)
		}
		e[i] = math.Sqrt(difference / size)
	}
	return e
}
