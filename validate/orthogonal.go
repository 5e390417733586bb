package validate

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Angle is the pair of rows of a matrix that are farthest from orthogonal.
type Angle struct {
	// I < J are the indices of the rows of the largest |cos|, both 0 for fewer than two rows.
	I, J int
	// Cos is |cos| of the angle between rows I and J, the largest of all pairs of rows. If Cos is
	// 0, all rows are orthogonal to each other. Cos is NaN if CheckOrthogonal returned an error.
	Cos float64
}

// String returns in words the largest |cos| and the two rows.
func (a Angle) String() string {
	switch {
	case math.IsNaN(a.Cos):
		return "not known to be orthogonal"
	case a.I == a.J:
		return "fewer than two rows"
	}
	return fmt.Sprintf("largest |cos| %.3g, between rows %d and %d", a.Cos, a.I, a.J)
}

// CheckOrthogonal returns the largest |cos| of the angle between two rows of the m×d matrix w, with
// a rounding error of at most (d+4)·2⁻⁵². If w holds m > d orthogonal frequencies in R^d, which are
// orthogonal within blocks of d rows, pass w.RowRange(0, d) to CheckOrthogonal.
//
// CheckOrthogonal takes O(m²d) time and O(m·d) memory, and does not change w. CheckOrthogonal
// returns an error for a row of zeros, and for an element that is NaN or infinite.
func CheckOrthogonal[T dense.Float](w dense.Matrix[T]) (Angle, error) {
	w.Check()
	unknown := Angle{Cos: math.NaN()}
	if err := checkFinite("w", w); err != nil {
		return unknown, err
	}
	unit := dense.Copy(dense.Matrix[float64]{}, w)
	for i := range unit.Rows {
		row := unit.Row(i)
		norm := floats.Norm(row, 2)
		if norm == 0 {
			return unknown, fmt.Errorf("validate: row %d of w is zero, want a direction", i)
		}
		for j := range row {
			row[j] /= norm
		}
	}
	const block = 64
	worst := Angle{Cos: -1}
	for lo := 0; lo < unit.Rows; lo += block {
		hi := min(lo+block, unit.Rows)
		cos := kernels.Gram(dense.Matrix[float64]{}, kernels.DotProduct{}, unit.RowRange(lo, hi), unit.RowRange(lo, unit.Rows))
		for i := range cos.Rows {
			for j := i + 1; j < cos.Cols; j++ {
				if c := math.Abs(cos.At(i, j)); c > worst.Cos {
					worst = Angle{I: lo + i, J: lo + j, Cos: c}
				}
			}
		}
	}
	worst.Cos = math.Max(worst.Cos, 0)
	return worst, nil
}
