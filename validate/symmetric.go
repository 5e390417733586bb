package validate

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// Asymmetry holds the elements of a matrix A that differ most from the mirrored elements.
type Asymmetry struct {
	// I and J, I < J, are the row and the column of the element farthest from the mirrored one,
	// both 0 if no elements differ.
	I, J int
	// Upper is A_IJ, above the diagonal, and Lower is A_JI.
	Upper, Lower float64
	// Difference is |A_IJ − A_JI|, or NaN if CheckSymmetric returned an error.
	Difference float64
}

// OK reports whether the matrix is exactly symmetric.
func (a Asymmetry) OK() bool { return a.Difference == 0 }

// String says in words whether the matrix is symmetric, and where it is not.
func (a Asymmetry) String() string {
	switch {
	case a.OK():
		return "symmetric"
	case math.IsNaN(a.Difference):
		return "not known to be symmetric"
	}
	return fmt.Sprintf("not symmetric: element (%d, %d) is %g but (%d, %d) is %g, a difference of %.3g",
		a.I, a.J, a.Upper, a.J, a.I, a.Lower, a.Difference)
}

// CheckSymmetric returns the largest |a_ij − a_ji| of the n×n matrix a and the position (i, j), the
// first in row order if the largest occurs several times. CheckSymmetric returns an error for a
// matrix that is not square or not finite. CheckSymmetric takes O(n²) time and does not change a.
func CheckSymmetric[T dense.Float](a dense.Matrix[T]) (Asymmetry, error) {
	if err := checkSquare(a); err != nil {
		return Asymmetry{Difference: math.NaN()}, err
	}
	var worst Asymmetry
	for i := range a.Rows {
		for j := i + 1; j < a.Rows; j++ {
			upper, lower := float64(a.At(i, j)), float64(a.At(j, i))
			if diff := math.Abs(upper - lower); diff > worst.Difference {
				worst = Asymmetry{I: i, J: j, Upper: upper, Lower: lower, Difference: diff}
			}
		}
	}
	return worst, nil
}

func checkSquare[T dense.Float](a dense.Matrix[T]) error {
	a.Check()
	if a.Rows != a.Cols {
		return fmt.Errorf("validate: a is %d×%d, want a square matrix", a.Rows, a.Cols)
	}
	return checkFinite("a", a)
}

func checkFinite[T dense.Float](name string, a dense.Matrix[T]) error {
	for i := range a.Rows {
		for j, v := range a.Row(i) {
			if !isFinite(float64(v)) {
				return fmt.Errorf("validate: element (%d, %d) of %s is %v, want a finite number", i, j, name, v)
			}
		}
	}
	return nil
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
