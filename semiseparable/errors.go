package semiseparable

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// ElementError reports an element of an argument that is NaN or ±Inf, or an element of the diagonal
// that cannot be a divisor. An element λ of the diagonal can be a divisor if ν ≤ |λ| ≤ 1/ν, where ν
// = 2⁻¹²⁶ (float32) or 2⁻¹⁰²² (float64) is the smallest normal number.
type ElementError struct {
	Argument string  // "diag", "q", "k" or "v"
	Row      int     // the first such row of the argument
	Value    float64 // the first such element of the row
}

// Error returns a message with argument, row and value of the wrong element, and allowed values.
func (e *ElementError) Error() string {
	want := "a finite element"
	if e.Argument == "diag" {
		want = "an element that is normal, and so is its reciprocal"
	}
	return fmt.Sprintf("semiseparable: %s[%d] holds %g, want %s", e.Argument, e.Row, e.Value, want)
}

// OverflowError reports that a result of finite arguments is beyond the range of the element type.
type OverflowError struct {
	// Row is the first row of the result, or for SolveTransposed the last row, with an element that
	// is not finite. An overflow in one row may spread to rows nearby: the row that overflows first
	// is within 47 rows of Row, and after Inverse within 127 rows.
	Row int
}

// Error returns a message with the Row of the overflow.
func (e *OverflowError) Error() string {
	return fmt.Sprintf("semiseparable: row %d of the result overflows", e.Row)
}

func smallestNormal[T dense.Float]() T {
	least := 0x1p-1022
	if v := T(least); v != 0 {
		return v
	}
	least = 0x1p-126
	return T(least)
}

func checkPivots[T dense.Float](diag []T) error {
	least := smallestNormal[T]()
	most := 1 / least
	for i, v := range diag {
		if a := max(v, -v); !(a >= least && a <= most) {
			return &ElementError{"diag", i, float64(v)}
		}
	}
	return nil
}

func checkFinite[T dense.Float](name string, x dense.Matrix[T]) error {
	for i := range x.Rows {
		if row := x.Row(i); !finite(row) {
			return &ElementError{name, i, firstInfinite(row)}
		}
	}
	return nil
}

func checkArguments[T dense.Float](diag []T, q, k dense.Matrix[T]) error {
	if err := checkFinite("diag", dense.Of(len(diag), 1, diag)); err != nil {
		return err
	}
	if err := checkFinite("q", q); err != nil {
		return err
	}
	return checkFinite("k", k)
}

func finite[T dense.Float](x []T) bool {
	// 0·v is 0 for finite v only; four independent sums are faster.
	var s0, s1, s2, s3 T
	for ; len(x) >= 4; x = x[4:] {
		s0 += 0 * x[0]
		s1 += 0 * x[1]
		s2 += 0 * x[2]
		s3 += 0 * x[3]
	}
	for _, v := range x {
		s0 += 0 * v
	}
	return s0+s1+s2+s3 == 0
}

func firstInfinite[T dense.Float](x []T) float64 {
	for _, v := range x {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return f
		}
	}
	return 0
}

func checkResult[T dense.Float](x dense.Matrix[T], backward bool) error {
	for s := range x.Rows {
		i := s
		if backward {
			i = x.Rows - 1 - s
		}
		if !finite(x.Row(i)) {
			return &OverflowError{i}
		}
	}
	return nil
}
